// DevClaw as a plugin of OpenClaw: registers what devclaw_py has and hands every call to its Python process.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
import { Bridge, program } from "./bridge.js";

const TOOLS = JSON.parse(readFileSync(join(dirname(fileURLToPath(import.meta.url)), "tools.json"), "utf8"));
const KEY = Symbol.for("devclaw.bridge");

// The child answers after answerWithinS at the latest; this is how much longer the plugin believes in it.
const MARGIN_S = 40;
const ANSWER_WITHIN_S = 20;

// A key is refused for as long as the gateway remembers it.
const REMEMBERED = { idPrefix: "devclaw:", maxAgeMs: 30 * 24 * 3600 * 1000, maxEntries: 20000 };

const pick = (found, names) => Object.fromEntries(names.filter((name) => found?.[name] !== undefined).map((name) => [name, found[name]]));
const contextOf = (context) => pick(context, ["sessionKey", "agentId", "agentAccountId", "messageChannel", "deliveryContext", "nativeChannelId", "requesterSenderId", "senderIsOwner"]);
const contextOfCommand = (context) => ({
  ...pick(context, ["sessionKey", "agentId", "isAuthorizedSender"]),
  requesterSenderId: context.senderId,
  messageChannel: context.channel,
  agentAccountId: context.accountId,
});

/** The answer to a call that got none. */
function broken(tool, error) {
  return {
    success: false,
    error: {
      code: "internal",
      message: `devclaw could not be asked for ${tool}: ${error.message}`,
      retryable: true,
      hint: "look with queue_status what was done before you call again",
    },
  };
}

/** Send one announcement. The gateway keeps the key: what was sent under it, also before a crash, is not sent again. */
async function send(api, { key, text, channel, to, accountId, threadId }) {
  const { sendDurableMessageBatch } = await import("openclaw/plugin-sdk/channel-outbound");
  const result = await sendDurableMessageBatch({
    cfg: api.runtime.config?.current?.() ?? api.config,
    channel,
    to,
    accountId,
    threadId,
    payloads: [{ text }],
    deliveryIntentId: key,
    reusePendingDeliveryIntent: true,
    deliveryRetryOwner: "caller",
    completionRetention: REMEMBERED,
  });
  if (result.status === "failed") throw new Error(`${channel} ${to}: ${result.error?.message ?? result.error ?? "not sent"}`);
  return { status: result.status };
}

export default definePluginEntry({
  id: "devclaw",
  name: "DevClaw",
  description: "Turns group chats into software teams: issues move through a pipeline, worker sessions do the work.",
  register(api) {
    const config = api.pluginConfig ?? {};
    const timeoutMs = ((config.answerWithinS ?? ANSWER_WITHIN_S) + MARGIN_S) * 1000;
    // register() runs several times in one process; there is one child for all of them.
    const bridge = () =>
      (globalThis[KEY] ??= new Bridge({
        config,
        root: api.rootDir,
        logger: api.logger,
        tools: TOOLS.map((tool) => tool.name),
        methods: { send: (params) => send(api, params) },
      }));

    for (const tool of TOOLS) {
      api.registerTool(
        (context) => ({
          ...tool,
          // Otherwise a model has to search for the tool before it can call it.
          catalogMode: "direct-only",
          async execute(_id, params, signal) {
            let answer;
            try {
              answer = await bridge().call("tool.call", { tool: tool.name, arguments: params, context: contextOf(context) }, { timeoutMs, signal });
            } catch (error) {
              answer = broken(tool.name, error);
            } finally {
              // No gateway will end it.
              if (context.oneShotCliRun) {
                globalThis[KEY]?.stop();
                delete globalThis[KEY];
              }
            }
            return { content: [{ type: "text", text: JSON.stringify(answer) }] };
          },
        }),
        { name: tool.name },
      );
    }

    api.registerCommand({
      name: "devclaw",
      description: "The project of this group: status, queue, health",
      acceptsArgs: true,
      requireAuth: true,
      async handler(context) {
        try {
          return await bridge().call("command", { words: context.args ?? "", context: contextOfCommand(context) }, { timeoutMs });
        } catch (error) {
          return { text: `✖ devclaw could not be asked: ${error.message}` };
        }
      },
    });

    api.registerCli(
      ({ program: cli }) => {
        cli
          .command("devclaw")
          .description("The devclaw command line")
          .helpOption(false)
          .allowUnknownOption()
          .allowExcessArguments()
          .argument("[words...]")
          .action(() => {
            const words = process.argv.slice(process.argv.indexOf("devclaw", 2) + 1);
            const [command, ...given] = program(config, api.rootDir);
            const env = config.workspace ? { DEVCLAW_WORKSPACE: config.workspace, ...process.env } : process.env;
            const done = spawnSync(command, [...given, ...words], { stdio: "inherit", env });
            if (done.error) console.error(`${command} could not be started: ${done.error.message}`);
            process.exitCode = done.status ?? 1;
          });
      },
      { descriptors: [{ name: "devclaw", description: "The devclaw command line", hasSubcommands: true }] },
    );

    // What devclaw doctor --openclaw asks.
    api.registerGatewayMethod(
      "devclaw.status",
      async ({ respond }) => {
        try {
          await bridge().ensure();
          respond(true, { ...bridge().found, failures: bridge().failures });
        } catch (error) {
          respond(true, { error: error.message });
        }
      },
      { scope: "operator.read" },
    );

    api.registerService({
      id: "devclaw",
      start: () => bridge().serve(),
      stop: () => globalThis[KEY]?.stop(),
    });

    // A reload disposes the old code's registration before the new one; its bridge must not outlive it.
    if (api.registrationMode === "full") {
      api.lifecycle?.onDispose?.(() => {
        globalThis[KEY]?.stop();
        delete globalThis[KEY];
      });
    }
  },
});
