import { LocalError } from "../local-error.ts";
import { asList, asObject, type Json, type JsonObject } from "./template.ts";

export type EventRuleSpec = {
  readonly arn: string;
  readonly bus: string;
  /** The exact sources that match. Absent: every source matches. */
  readonly sources: readonly string[] | undefined;
  /** The exact detail types that match. Absent: every detail type matches. */
  readonly detailTypes: readonly string[] | undefined;
  readonly queueArns: readonly string[];
};

const DEFAULT_BUS = "default";
const PATTERN_FIELDS = ["source", "detail-type"];
/** `RetryPolicy` and `DeadLetterConfig` have no effect: if a queue does not take an event, PutEvents rejects the event at once. */
const TARGET_FIELDS = ["Id", "Arn", "RetryPolicy", "DeadLetterConfig"];

/** Reads an `AWS::Events::Rule` that has an event pattern. Throws `LocalError` for a pattern or a target that is not played. */
export function readEventRule(arn: string, properties: JsonObject): EventRuleSpec {
  const pattern = asObject(properties.EventPattern);
  refuseOtherFields(`the pattern of rule ${arn}`, pattern, PATTERN_FIELDS);
  const exact = (field: string): string[] | undefined => {
    const values = pattern[field];
    if (values === undefined) return undefined;
    const texts = asList(values).filter((value) => typeof value === "string");
    if (texts.length > 0 && texts.length === asList(values).length) return texts;
    throw new LocalError(
      `the ${field} of rule ${arn} is ${JSON.stringify(values)}; the local stack supports only lists of exact values`,
    );
  };
  return {
    arn,
    bus: busName(properties.EventBusName),
    sources: exact("source"),
    detailTypes: exact("detail-type"),
    queueArns: asList(properties.Targets).map((target) => queueOf(arn, asObject(target))),
  };
}

/** Answers the name of a bus, which a template may refer to by name or by ARN. */
export function busName(reference: Json | undefined): string {
  return String(reference ?? DEFAULT_BUS).replace(/^arn:.*:event-bus\//, "");
}

function queueOf(ruleArn: string, target: JsonObject): string {
  refuseOtherFields(`a target of rule ${ruleArn}`, target, TARGET_FIELDS);
  const arn = String(target.Arn);
  if (/^arn:aws:sqs:[^:]*:[^:]*:(?!.*\.fifo$)/.test(arn)) return arn;
  throw new LocalError(`a target of rule ${ruleArn} is ${arn}; the local stack sends events only to queues`);
}

function refuseOtherFields(what: string, value: JsonObject, known: readonly string[]): void {
  const other = Object.keys(value).find((field) => !known.includes(field));
  if (other === undefined) return;
  throw new LocalError(`${what} has ${other}; the local stack supports only ${known.join(", ")}`);
}
