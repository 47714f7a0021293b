// The connection to the one Python child of a gateway: newline JSON-RPC 2.0 in both directions.
import { spawn } from "node:child_process";
import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import readline from "node:readline";

export const PROTOCOL = 1;

const STOP_MS = 5000;
const START_MS = 30000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60000;
// A child that ran this long did not fail at its start.
const SOUND_MS = 60000;

// What workers, git and the forges' programs need. Keys and tokens of the gateway's own are not among it.
const HANDED_ON = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|TMUX_TMPDIR|XDG_.*|SSH_AUTH_SOCK|SSH_AGENT_PID|GIT_.*|SSL_CERT_.*|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|DEVCLAW_.*)$/;

// Node binds what a child reports to the async context in which it was started. One that is started inside a request
// would keep that request's authority, which ends with it: later sends would be refused.
const inRoot = (globalThis[Symbol.for("devclaw.root")] ??= AsyncLocalStorage.snapshot());

const environment = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => HANDED_ON.test(name)));

/** Return the argument list of devclaw: as configured, else the one that this plugin was installed with, else PATH's. */
export function program(config, root) {
  if (config.python) return [config.python, "-P", "-m", "devclaw_py"];
  const up = (count, ...more) => join(root ?? "/", ...Array(count).fill(".."), ...more);
  // A checkout with its .venv; a virtual environment that holds the package.
  const found = [up(4, ".venv", "bin", "devclaw"), up(7, "bin", "devclaw")].find((path) => root && existsSync(path));
  return [found ?? "devclaw"];
}

/** A child ended before it had answered; its end stands in the log already. */
class Ended extends Error {}

export class Bridge {
  constructor({ config, root, logger, tools, methods }) {
    Object.assign(this, { config, root, logger, tools, methods });
    this.child = null;
    this.ready = null;
    this.waiting = new Map();
    this.count = 0;
    this.serves = false;
    this.stopped = false;
    this.failures = 0;
    this.notBefore = 0;
    this.timer = null;
  }

  /** Keep a child running from now on, with heartbeat and announcements. */
  async serve() {
    this.serves = true;
    this.stopped = false;
    try {
      await this.ensure();
    } catch (error) {
      if (!(error instanceof Ended)) this.logger.error(`devclaw: ${error.message}`);
    }
  }

  /** Return when a child is ready to be asked. */
  async ensure() {
    if (this.ready === null) {
      const wait = this.notBefore - Date.now();
      if (this.failures > 2 && wait > 0) {
        throw new Error(`its process ended ${this.failures} times: ${this.why}; the next try is in ${Math.ceil(wait / 1000)} s`);
      }
      inRoot(() => this.start());
    }
    return this.ready;
  }

  start() {
    const [command, ...words] = [...program(this.config, this.root), "openclaw", "child"];
    const child = spawn(command, words, { cwd: homedir(), env: environment(), stdio: ["pipe", "pipe", "pipe"] });
    const began = Date.now();
    this.child = child;
    this.why = "";
    readline.createInterface({ input: child.stdout }).on("line", (line) => this.read(child, line));
    readline.createInterface({ input: child.stderr }).on("line", (line) => {
      this.why = line;
      this.logger.warn(`devclaw: ${line}`);
    });
    child.stdin.on("error", () => {});
    child.on("error", (error) => this.gone(child, began, `${command} could not be started: ${error.message}; set plugins.entries.devclaw.config.python`));
    child.on("exit", (code, signal) => this.gone(child, began, `exit ${code ?? signal}`));
    this.ready = this.introduce(child);
    this.ready.catch(() => {});
  }

  async introduce(child) {
    const params = { protocol: PROTOCOL, tools: this.tools, config: this.config };
    try {
      const found = await this.ask(child, "initialize", params, START_MS);
      this.found = found;
      if (this.serves) await this.ask(child, "service.start", {}, START_MS);
      this.logger.info(`devclaw: version ${found.version}, process ${found.pid}, workspace ${found.workspace}`);
    } catch (error) {
      // It cannot be used as it is; the next call tries again, with what was mended meanwhile.
      this.end(child);
      throw error;
    }
  }

  gone(child, began, why) {
    if (this.child !== child) return;
    this.child = null;
    this.ready = null;
    this.failures = Date.now() - began > SOUND_MS ? 1 : this.failures + 1;
    const wait = Math.min(FIRST_WAIT_MS * 2 ** (this.failures - 1), LONGEST_WAIT_MS);
    this.notBefore = Date.now() + wait;
    this.why = this.why || why;
    for (const waiting of this.waiting.values()) waiting.reject(new Ended(`its process ended (${why})`));
    this.waiting.clear();
    if (this.stopped) return;
    this.logger.warn(`devclaw: its process ended (${why})${this.serves ? `; the next one is started in ${wait / 1000} s` : ""}`);
    if (!this.serves) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.serve(), wait);
    this.timer.unref();
  }

  /** Ask the child, and return what it answers. */
  async call(method, params, { timeoutMs, signal } = {}) {
    await this.ensure();
    return this.ask(this.child, method, params, timeoutMs, signal);
  }

  ask(child, method, params, timeoutMs, signal) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      const settle = (end) => (value) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        this.waiting.delete(id);
        end(value);
      };
      const aborted = () => settle(reject)(new Error(`${method} was given up; what it began goes on`));
      const timer = setTimeout(() => settle(reject)(new Error(`${method} was not answered within ${timeoutMs / 1000} s; what it began goes on`)), timeoutMs);
      signal?.addEventListener("abort", aborted);
      this.waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      if (child === null || child.stdin.destroyed) settle(reject)(new Error("its process has ended"));
      else this.write(child, { id, method, params });
    });
  }

  write(child, message) {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  async read(child, line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.logger.error(`devclaw: a line of its process is no JSON: ${line.slice(0, 200)}`);
      return;
    }
    if (message.method === undefined) {
      const waiting = this.waiting.get(message.id);
      if (waiting === undefined) {
        if (message.error) this.logger.error(`devclaw: ${message.error.message}`);
      } else if (message.error) waiting.reject(new Error(message.error.message));
      else waiting.resolve(message.result);
      return;
    }
    let answer;
    try {
      const method = this.methods[message.method];
      if (method === undefined) throw new Error(`the plugin has no method ${message.method}`);
      answer = { result: (await method(message.params)) ?? null };
    } catch (error) {
      answer = { error: { code: -32000, message: String(error?.message ?? error) } };
    }
    if (this.child === child) this.write(child, { id: message.id, ...answer });
  }

  /** Let the child end; it does so by itself when its input does. */
  end(child) {
    if (child === null) return;
    child.stdin.end();
    setTimeout(() => child.kill("SIGTERM"), STOP_MS).unref();
    setTimeout(() => child.kill("SIGKILL"), 2 * STOP_MS).unref();
  }

  stop() {
    this.stopped = true;
    this.serves = false;
    clearTimeout(this.timer);
    this.end(this.child);
  }
}
