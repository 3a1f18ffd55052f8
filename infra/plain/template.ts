import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, isAbsolute, join, resolve } from "node:path";
import {
  App,
  CfnOutput,
  CfnParameter,
  CliCredentialsStackSynthesizer,
  type IStackSynthesizer,
  Stack,
} from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { EventBus } from "aws-cdk-lib/aws-events";
import { Key } from "aws-cdk-lib/aws-kms";
import { type CfnFunction, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Construct } from "constructs";
import { messageOf } from "../../src/core/errors.ts";
import { API_OUTPUT, DASHBOARD_OUTPUT, TABLE_OUTPUT } from "../../src/settings/stack-outputs.ts";
import { DelayQueue, OF_FILE } from "../delay-queue.ts";
import { DEFAULT_STACK, deployedConfig, type PlainConfig, type TextOrParameter } from "./config.ts";
import { localFunction } from "./local-function.ts";

/** The ids of the stack and of its queue. They are a part of the logical ids, so another id would replace all resources. */
const STACK = "Minutehand";
const QUEUE = "Jobs";
const TEMPLATE_FILE = "template.json";
/** The names of the queue's outputs, by their descriptions, in place of names that end in a hash. */
const OUTPUTS: Readonly<Record<string, string>> = {
  [API_OUTPUT]: "ApiUrl",
  [TABLE_OUTPUT]: "TableName",
  [DASHBOARD_OUTPUT]: "DashboardUrl",
};

export type PlainTemplate = {
  /** The contents of all files, by their paths in the folder of the template. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The names of the parameters, each of which needs a value when the template is deployed. */
  readonly parameters: readonly string[];
  readonly warnings: readonly string[];
};

type Resource = { readonly Type: string; readonly Properties: { Code?: unknown } };
type Assets = { readonly files: Readonly<Record<string, { readonly source: { readonly path: string } }>> };

/**
 * Makes a CloudFormation template and the bundles of its functions. The template names each bundle by its folder, as
 * `aws cloudformation package` expects ("package", AWS CLI Command Reference). The same config gives the same bytes.
 *
 * Throws the errors of `DelayQueue`, `addHandler` and `addTarget`.
 * @param folder where the paths of handlers begin
 */
export function plainTemplate(config: PlainConfig, folder: string): PlainTemplate {
  const outdir = mkdtempSync(join(tmpdir(), "minutehand-template-"));
  try {
    // Without staging, the list of the assets names the folders of the bundles.
    const unstaged = { "aws:cdk:disable-asset-staging": true };
    const { stack, handlers } = synthesise(deployedConfig(config), folder, outdir, unstaged);
    const warnings = stack.messages.filter(({ level }) => level === "warning");
    return {
      files: filesOf(stack.template, outdir, handlers),
      parameters: Object.keys(stack.template.Parameters ?? {}),
      // The CDK appends how an app acknowledges the warning.
      warnings: warnings.map(({ entry }) => `${entry.data}`.replace(/ \[ack: .*\]$/, "")),
    };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/** Writes the queue as an app of the CDK does, so that `minutehand local` can run it. Throws like `plainTemplate`. */
export function synthesise(config: PlainConfig, folder: string, outdir: string, context: object = {}) {
  const app = new App({
    ...{ outdir, treeMetadata: false, analyticsReporting: false, builtinCloudFormationValidation: false },
    postCliContext: { "aws:cdk:enable-path-metadata": false, [OF_FILE]: true, ...context },
  });
  // Unlike the default one, it adds no rule and no parameter that ask for the bucket of `cdk bootstrap`.
  // With `exactOptionalPropertyTypes` the CDK's class does not have the CDK's own type.
  const synthesizer = new CliCredentialsStackSynthesizer() as IStackSynthesizer;
  const { stackName = DEFAULT_STACK } = config;
  const stack = new Stack(app, STACK, {
    synthesizer,
    stackName,
    description: "Minutehand, a serverless delay queue",
  });
  const handlers = declareQueue(stack, config, folder);
  return { stack: app.synth().getStackArtifact(stack.artifactId), handlers };
}

/** Declares the queue and answers the topics of its handlers, by the logical ids of their functions. */
function declareQueue(stack: Stack, config: PlainConfig, folder: string): Map<string, string> {
  const {
    $schema: _,
    stackName: __,
    targets = {},
    handlers = {},
    table,
    eventBus,
    encryptionKey,
    alarmTopic,
    ...props
  } = config;
  const textOf = parametersOf(stack);
  const key = encryptionKey && { encryptionKey: Key.fromKeyArn(stack, "Key", textOf(encryptionKey)) };
  const queue = new DelayQueue(stack, QUEUE, {
    ...props,
    ...key,
    // A restored table has the key of the old one, and the functions need the right to use it.
    ...(table && { table: Table.fromTableAttributes(stack, "Table", { tableName: textOf(table), ...key }) }),
    ...(eventBus && { eventBus: EventBus.fromEventBusName(stack, "EventBus", textOf(eventBus)) }),
    ...(alarmTopic && { alarmTopic: Topic.fromTopicArn(stack, "AlarmTopic", textOf(alarmTopic)) }),
  });
  for (const [topic, { arn, timeout, localHandler: handler }] of Object.entries(targets)) {
    const fn =
      handler === undefined
        ? named(`targets.${topic}.arn`, () =>
            LambdaFunction.fromFunctionArn(stack, `Function-${topic}`, textOf(arn)),
          )
        : localFunction(stack, topic, { handler, folder, timeout });
    named(`targets.${topic}`, () => queue.addTarget(topic, fn, { timeout }));
  }
  const topics = new Map<string, string>();
  for (const [topic, file] of Object.entries(handlers)) {
    const fn = named(`handlers.${topic}`, () => queue.addHandler(topic, resolve(folder, file)));
    topics.set(stack.getLogicalId(fn.node.defaultChild as CfnFunction), topic);
  }
  nameOutputs(stack, queue, config);
  return topics;
}

/** Names the property of the file in an error that names only constructs, which the file does not have. */
function named<T>(property: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new Error(`${property}: ${messageOf(error)}`, { cause: error });
  }
}

/** Answers a function that gives a text, or the token of a parameter. Several settings may share a parameter. */
function parametersOf(stack: Stack): (given: TextOrParameter) => string {
  // A name may be the id of another construct of the stack.
  const scope = new Construct(stack, "Parameters");
  const parameters = new Map<string, CfnParameter>();
  return (given) => {
    if (typeof given === "string") return given;
    const name = given.parameter;
    const parameter = parameters.get(name) ?? new CfnParameter(scope, name);
    parameter.overrideLogicalId(name);
    parameters.set(name, parameter);
    return parameter.valueAsString;
  };
}

function nameOutputs(stack: Stack, queue: DelayQueue, { topics }: PlainConfig): void {
  for (const output of stack.node.findAll().filter((node) => node instanceof CfnOutput)) {
    const name = OUTPUTS[output.description ?? ""];
    if (name !== undefined) output.overrideLogicalId(name);
  }
  if (queue.api !== undefined)
    new CfnOutput(stack, "ApiArn", {
      description: "What a policy names to allow execute-api:Invoke for all calls of the API",
      value: queue.api.arnForExecuteApi(),
    });
  const webhooks = Object.keys(topics).filter((topic) => topics[topic]?.webhook !== undefined);
  const names = webhooks.map(camelCase);
  // Within a scope, a name that is not overridden ends in a hash.
  const scope = new Construct(stack, "Outputs");
  for (const topic of webhooks) {
    const output = new CfnOutput(scope, `Secret-${topic}`, {
      description: `The secret of webhook topic ${topic}`,
      value: queue.webhookSecret(topic).secretArn,
    });
    const name = camelCase(topic);
    // The topics `a-1` and `a1` would have the same name.
    if (names.indexOf(name) === names.lastIndexOf(name)) output.overrideLogicalId(`${name}SecretArn`);
  }
}

/** `OrderTimeout` for `order-timeout`: the name of an output has letters and digits only. */
function camelCase(topic: string): string {
  return topic.replaceAll(/(?:^|-)-*(.?)/g, (_, first: string) => first.toUpperCase());
}

function filesOf(
  template: { readonly Resources: Readonly<Record<string, Resource>> },
  outdir: string,
  handlers: ReadonlyMap<string, string>,
): Map<string, Uint8Array> {
  const { files: assets } = JSON.parse(readFileSync(join(outdir, `${STACK}.assets.json`), "utf8")) as Assets;
  const files = new Map<string, Uint8Array>();
  for (const [id, { Type, Properties }] of Object.entries(template.Resources)) {
    if (Type !== "AWS::Lambda::Function") continue;
    const { S3Key } = Properties.Code as { S3Key: string };
    const path = assets[basename(S3Key, ".zip")]?.source.path ?? "";
    const source = isAbsolute(path) ? path : join(outdir, path);
    const topic = handlers.get(id);
    const folder = `functions/${topic === undefined ? basename(source) : `handler-${topic}`}`;
    for (const name of readdirSync(source).sort())
      files.set(`${folder}/${name}`, readFileSync(join(source, name)));
    Properties.Code = `./${folder}`;
  }
  files.set(TEMPLATE_FILE, Buffer.from(`${JSON.stringify(template, undefined, 2)}\n`));
  return files;
}
