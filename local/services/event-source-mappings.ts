import * as z from "zod/mini";
import type { EventSource } from "../functions/event-source.ts";
import type { EventSourceSpec } from "../template/resources.ts";
import type { Operations } from "./aws-endpoint.ts";
import { AwsError } from "./aws-error.ts";
import type { JsonFile } from "./json-file.ts";

/** Whether a user last enabled (true) or disabled (false) a mapping, by its UUID. The template decides for mappings without an entry. */
export type MappingStates = Readonly<Record<string, boolean>>;

export type EventSourceMappings = {
  readonly operations: Operations;
  readonly start: (sources: readonly StartableSource[]) => void;
  /** Adds the mappings of a changed app, which start only after a restart. `log` gets a line when a call enables or disables one of them. */
  readonly expect: (specs: readonly EventSourceSpec[], log: (text: string) => void) => void;
  /** The ARNs of the queues whose messages are received. */
  readonly polled: () => string[];
  readonly stop: () => Promise<void>;
};

type Options = { readonly file: JsonFile<MappingStates>; readonly now: () => number };
export type StartableSource = { readonly spec: EventSourceSpec; readonly start: () => EventSource };
type Mapping = Pick<StartableSource, "spec"> & {
  /** Absent before the restart that the mapping needs. */
  readonly start?: StartableSource["start"];
  /** Called after a change of the state. */
  readonly onChange?: () => void;
  source: EventSource | undefined;
  modifiedAt: number;
};

const ROUTE = "/2015-03-31/event-source-mappings/{UUID}";
const updateRequest = z.object({ Enabled: z.optional(z.boolean()) });

type State = Options & {
  readonly mappings: Map<string, Mapping>;
  readonly ending: Set<Promise<void>>;
};

/** The part of Lambda's API that reads event source mappings, and enables or disables them. */
export function createEventSourceMappings(options: Options): EventSourceMappings {
  const state: State = { ...options, mappings: new Map(), ending: new Set() };
  const { mappings, ending, now } = state;
  return {
    operations: {
      [`GET ${ROUTE}`]: { answer: ({ parameters }) => describe(find(state, parameters.UUID)) },
      [`PUT ${ROUTE}`]: {
        status: 202,
        answer: ({ parameters, body }) => update(state, parameters.UUID, body),
      },
    },
    start: (sources) => {
      for (const source of sources) {
        const mapping: Mapping = { ...source, source: undefined, modifiedAt: now() };
        mappings.set(source.spec.uuid, mapping);
        startOrStop(state, mapping);
      }
    },
    expect: (specs, log) => {
      for (const spec of specs) {
        const queue = spec.queueArn.split(":").at(-1);
        const onChange = () => log(`the consumer of queue ${queue} starts only after a restart`);
        if (!mappings.has(spec.uuid))
          mappings.set(spec.uuid, { spec, onChange, source: undefined, modifiedAt: now() });
      }
    },
    polled: () => [...mappings.values()].flatMap(({ source, spec }) => (source ? spec.queueArn : [])),
    stop: async () => {
      const sources = [...mappings.values()].map(({ source }) => source?.stop());
      mappings.clear();
      await Promise.all([...sources, ...ending]);
    },
  };
}

/** Starts or stops a mapping, by its state. A mapping that stops still runs the messages that it has received. */
function startOrStop({ file, ending }: State, mapping: Mapping): void {
  const { spec, source, start } = mapping;
  const enabled = file.read()[spec.uuid] ?? spec.enabled;
  if (enabled) mapping.source ??= start?.();
  else if (source) {
    mapping.source = undefined;
    const end = source.stop().finally(() => ending.delete(end));
    ending.add(end);
  }
}

function update(state: State, uuid: string | undefined, body: unknown): object {
  const { file, now } = state;
  const mapping = find(state, uuid);
  const { success, data } = z.safeParse(updateRequest, body);
  if (!success) throw new AwsError("InvalidParameterValueException", 400, "Enabled must be true or false");
  if (data.Enabled !== undefined) {
    const states = file.read();
    // A tick repeats the calls of a pause.
    if (states[mapping.spec.uuid] !== data.Enabled) mapping.onChange?.();
    file.write({ ...states, [mapping.spec.uuid]: data.Enabled });
    mapping.modifiedAt = now();
    startOrStop(state, mapping);
  }
  return describe(mapping);
}

function find({ mappings }: State, uuid = ""): Mapping {
  const mapping = mappings.get(uuid);
  if (mapping) return mapping;
  throw new AwsError("ResourceNotFoundException", 404, `there is no event source mapping ${uuid}`);
}

function describe({ spec, source, modifiedAt }: Mapping): object {
  return {
    UUID: spec.uuid,
    FunctionArn: spec.functionArn,
    EventSourceArn: spec.queueArn,
    BatchSize: spec.batchSize,
    State: source ? "Enabled" : "Disabled",
    StateTransitionReason: "USER_INITIATED",
    LastModified: modifiedAt / 1000,
  };
}
