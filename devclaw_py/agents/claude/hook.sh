#!/bin/sh
# What Claude Code calls at each event, with the event's name; the payload is JSON on standard input. It lies in the
# session's folder. Each event becomes one file there: written aside, then renamed. What cannot be written (a full disk)
# is left out: no turn waits for it or fails by it.
umask 077
folder=${0%/*}
payload=$(cat)

keep() {
    aside=$folder/events/.new.$$
    stamp=$(date +%s%N 2>/dev/null)
    { printf '%s\n' "$payload" >"$aside" && mv -f "$aside" "$folder/events/$stamp-$$-$1.json"; } 2>/dev/null ||
        rm -f "$aside"
}

# Wakes the heartbeat. Not by a colon: where the file cannot be written, sh would end with that.
ring() {
    { true >"$folder/rung"; } 2>/dev/null
}

block() {
    keep PromptBlocked
    echo "devclaw: $1" >&2
    exit 2
}

# A question goes to people by a file, and its answer comes by one: whoever links that name first has decided. Claude Code
# shows its own dialog meanwhile, which stays when nothing is said here; answered there, it ends this script.
ask() {
    id=$(od -An -N4 -tx1 /dev/urandom 2>/dev/null | tr -d ' \n')
    now=$(date +%s)
    expires=$((now + $1))
    aside=$folder/questions/.new.$$ question=$folder/questions/$id.json answer=$folder/answers/$id
    {
        printf '{"id":"%s","at":%s,"expires":%s,"pid":%s,"parent":%s,"asked":%s}\n' "$id" "$now" "$expires" $$ $PPID "$payload" >"$aside" &&
            mv -f "$aside" "$question"
    } 2>/dev/null || {
        rm -f "$aside"
        return
    }
    ring
    while [ ! -e "$answer" ]; do
        kill -0 "$PPID" 2>/dev/null || return
        # tmux may leave a killed Claude Code as a zombie, which takes signals.
        case $(cat "/proc/$PPID/stat" 2>/dev/null) in *") Z "*) return ;; esac
        # A link to the question needs no room on a full disk, and says that nobody answered.
        if [ "$(date +%s)" -ge "$expires" ] && { ln "$question" "$answer" 2>/dev/null || [ ! -e "$answer" ]; }; then
            printf '%s\n' "$unanswered"
            return
        fi
        sleep 0.5
    done
    head -n 1 "$answer"
}

unanswered='{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"devclaw: nobody answered in time. Do not ask again: go on in the most careful way that needs no answer and say so in your report, or report blocked with this question."}}}'

case $1 in
status)
    aside=$folder/.usage.$$
    { printf '%s\n' "$payload" >"$aside" && mv -f "$aside" "$folder/usage.json"; } 2>/dev/null || rm -f "$aside"
    echo "devclaw ${folder##*/}"
    exit 0
    ;;
UserPromptSubmit) ;;
PermissionRequest)
    keep "$1"
    ask "${2:-1800}"
    exit 0
    ;;
*)
    keep "$1"
    case $1 in Stop | StopFailure | SessionEnd) ring ;; esac
    exit 0
    ;;
esac

# The event is there before the offer is accepted: whoever sees an accepted offer also sees the turn that it began.
keep UserPromptSubmit
prompt=${payload#*'"prompt":'}
# A person may paste half a megabyte, and sh's patterns are slow on texts made to be so.
prompt=$(printf '%.9000s' "$prompt")
case $prompt in
'"devclaw-task '[0-9]*': Read the file '*) ;;
*'devclaw-task '[0-9]*': Read the file '*) block "a task's line has other text before it; send that apart" ;;
*) exit 0 ;;
esac
offer=${prompt#'"devclaw-task '}
offer=${offer%%[!0-9.]*}
IFS= read -r line 2>/dev/null <"$folder/offers/$offer" || line=
[ -n "$line" ] || block "task $offer is not offered: it was taken before, or taken back"
case $prompt in
"$line"*) ;;
*) block "the line of task $offer is not what was offered, or has other text behind it" ;;
esac
mv -f "$folder/offers/$offer" "$folder/accepted/$offer" 2>/dev/null || block "task $offer was taken back"
exit 0
