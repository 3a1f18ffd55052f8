/** `fauxqs-process <host> <port> [data folder] [ms ahead]`. Ends when its parent ends. Replaces methods of fauxqs to correct its faults, and to move its clock. */
import { AsyncLocalStorage } from "node:async_hooks";
import { Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Server, type Socket } from "node:net";
import type { DatabaseSync } from "node:sqlite";
import { refusalOfWebPage } from "../web-page.ts";
import type { QueuesState } from "./fauxqs.ts";
import { setAhead, shiftDate } from "./shifted-date.ts";

const [host, port, dataDir, aheadAtFirst = "0"] = process.argv.slice(2);
setAhead(Number(aheadAtFirst));
shiftDate();

// fauxqs listens on all interfaces, so each server of this process is bound to the given loopback address.
const listen = Server.prototype.listen;
Server.prototype.listen = function listenOnLoopback(this: Server, ...args: unknown[]) {
  const [first, ...others] = args;
  const bound = typeof first === "object" && first !== null ? { ...first, host } : first;
  return Reflect.apply(listen, this, [bound, ...others]);
};

// fauxqs answers every request, also requests that web pages of other sites make.
const { emit } = HttpServer.prototype;
HttpServer.prototype.emit = function emitUnlessWebPage(this: HttpServer, event: string, ...args: unknown[]) {
  if (event !== "request") return Reflect.apply(emit, this, [event, ...args]);
  const [request, response] = args as [IncomingMessage, ServerResponse];
  const refusal = refusalOfWebPage(request.headers);
  if (refusal === undefined) return Reflect.apply(emit, this, [event, ...args]);
  response.writeHead(403, { connection: "close" }).end(refusal);
  return true;
};

process.on("disconnect", () => process.exit());
// Messages contain the bodies of jobs, so only the owner may read the files.
process.umask(0o077);

// fauxqs' pattern of refused characters has no flag `u`, so it takes an emoji for two lone surrogates and rejects it. SQS accepts it.
const sqsTypes = new URL("sqs/sqsTypes.js", import.meta.resolve("fauxqs")).href;
const { INVALID_MESSAGE_BODY_CHAR } = (await import(sqsTypes)) as { INVALID_MESSAGE_BODY_CHAR: RegExp };
const REJECTED = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
INVALID_MESSAGE_BODY_CHAR.test = (text) => REJECTED.test(text);

// fauxqs stores a message that is visible at once without a receive count. Its table rejects it, so no list has it until a restart.
const persistence = new URL("persistence.js", import.meta.resolve("fauxqs")).href;
type Persistence = { db: DatabaseSync; updateMessageReady(messageId: string): void };
const { PersistenceManager } = (await import(persistence)) as {
  PersistenceManager: { prototype: Persistence };
};
const READY =
  "UPDATE sqs_messages SET receipt_handle = NULL, visibility_deadline = NULL WHERE message_id = ?";
PersistenceManager.prototype.updateMessageReady = function (messageId) {
  this.db.prepare(READY).run(messageId);
};

// fauxqs does not notice when the client of a long poll disconnects. It would answer a message to nobody, and hide the message.
const caller = new AsyncLocalStorage<{ socket: Socket; trace: string | undefined }>();
const router = new URL("sqs/sqsRouter.js", import.meta.resolve("fauxqs")).href;
type Router = { readonly store: { allQueues(): Iterable<Queue> } };
type Handle = (this: Router, request: { raw: IncomingMessage }, reply: unknown) => Promise<unknown>;
const { SqsRouter } = (await import(router)) as { SqsRouter: { prototype: { handle: Handle } } };
const { handle } = SqsRouter.prototype;
let allQueues: () => Iterable<Queue> = () => [];
SqsRouter.prototype.handle = function (request, reply) {
  allQueues = () => this.store.allQueues();
  const { socket, headers } = request.raw;
  const trace = headers["x-amzn-trace-id"];
  return caller.run({ socket, trace: typeof trace === "string" ? trace : undefined }, () =>
    handle.call(this, request, reply),
  );
};
const store = new URL("sqs/sqsStore.js", import.meta.resolve("fauxqs")).href;
type Stored = { trace?: string; delayUntil?: number };
type Received = { ReceiptHandle: string; Attributes?: object };
type Queue = {
  readonly name: string;
  readonly messages: readonly Stored[];
  readonly delayedMessages: readonly Stored[];
  readonly inflightMessages: Map<string, { message: Stored; visibilityDeadline: number }>;
  processTimers(): void;
  getAllAttributes(names: readonly string[]): object;
  waitForMessages(seconds: number): Promise<void>;
};
type Dequeue = (this: Queue, ...args: unknown[]) => Received[];
const { SqsQueue, SqsStore } = (await import(store)) as {
  SqsQueue: { prototype: Queue & { dequeue: Dequeue } };
  SqsStore: { createMessage(...args: unknown[]): Stored };
};
const handedToFunctions = new Set<string>();
const { dequeue } = SqsQueue.prototype;
SqsQueue.prototype.dequeue = function (...args) {
  const { socket, trace } = caller.getStore() ?? {};
  if (socket?.destroyed) return [];
  const messages = dequeue.apply(this, args);
  // Only requests of functions have a trace header.
  if (trace !== undefined) for (const { ReceiptHandle } of messages) handedToFunctions.add(ReceiptHandle);
  return messages.map((received) => {
    const AWSTraceHeader = this.inflightMessages.get(received.ReceiptHandle)?.message.trace;
    return AWSTraceHeader === undefined ? received : withAttribute(received, { AWSTraceHeader });
  });
};

// fauxqs counts a message as delayed or hidden until somebody receives, also after the delay or the visibility timeout.
const { getAllAttributes } = SqsQueue.prototype;
SqsQueue.prototype.getAllAttributes = function (names) {
  this.processTimers();
  return getAllAttributes.call(this, names);
};

// fauxqs drops the trace header, by which Lambda counts a chain of invocations. Kept in memory, so a restart starts the count again.
const { createMessage } = SqsStore;
SqsStore.createMessage = function (...args) {
  const trace = caller.getStore()?.trace;
  return { ...createMessage.apply(this, args), ...(trace === undefined ? {} : { trace }) };
};

// The runner moves the clock only while each running invocation waits for a message.
const waits = new Set<Socket>();
const { waitForMessages } = SqsQueue.prototype;
SqsQueue.prototype.waitForMessages = async function (seconds) {
  const { socket, trace } = caller.getStore() ?? {};
  if (socket && trace !== undefined) waits.add(socket);
  await waitForMessages.call(this, seconds);
  if (socket) waits.delete(socket);
};

process.on("message", ({ ahead }: { ahead: number }) => {
  setAhead(ahead);
  for (const queue of allQueues()) queue.processTimers();
  process.send?.(queuesState([...allQueues()]));
});

function queuesState(queues: readonly Queue[]): QueuesState {
  const hidden = queues.flatMap(({ inflightMessages }) => [...inflightMessages]);
  const handles = new Set(hidden.map(([handle]) => handle));
  for (const handle of handedToFunctions) if (!handles.has(handle)) handedToFunctions.delete(handle);
  const times = [
    ...hidden.map(([, { visibilityDeadline }]) => visibilityDeadline),
    ...queues.flatMap(({ delayedMessages }) => delayedMessages.flatMap(({ delayUntil }) => delayUntil ?? [])),
  ];
  return {
    ready: queues.filter(({ messages }) => messages.length > 0).map(({ name }) => name),
    waiting: [...waits].filter(({ destroyed }) => !destroyed).length,
    handed: [...handedToFunctions],
    next: times.length === 0 ? undefined : Math.min(...times),
  };
}

/** Adds an attribute to a received message. The attribute stays when fauxqs sets `Attributes` later. */
function withAttribute(received: Received, more: object): Received {
  let attributes: object | undefined;
  return Object.defineProperty(received, "Attributes", {
    enumerable: true,
    get: () => attributes && { ...attributes, ...more },
    set: (set: object) => {
      attributes = set;
    },
  });
}

const { startFauxqs } = await import("fauxqs");
const server = await startFauxqs({ port: Number(port), logger: false, ...(dataDir ? { dataDir } : {}) });

process.on("SIGTERM", () => void server.stop().finally(() => process.exit()));
process.send?.("ready");
