import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { App, Duration, Size, Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { type IVpc, SecurityGroup, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { type CfnFunction, LayerVersion, Tracing } from "aws-cdk-lib/aws-lambda";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { AwsSolutionsChecks } from "cdk-nag";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundle } from "../../infra/bundling/bundle.ts";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { HandlerOptions } from "../../infra/handler.ts";
import { INVARIANTS, offenders } from "./invariants.ts";
import { type Resource, resourcesOf, type StackTemplate } from "./resources.ts";

const LAYER = "arn:aws:lambda:us-east-1:123456789012:layer:fonts:3";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-handler-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const greeting = (word: string) => `export const handler = async (): Promise<string> => "${word}";\n`;

function shop() {
  const app = new App({ outdir: join(folder, "cdk.out") });
  const stack = new Stack(app, "Shop");
  const topics = { mail: {}, refund: {}, work: { consumer: "pull" as const } };
  return { app, stack, queue: new DelayQueue(stack, "Jobs", { topics, removable: true }) };
}

describe("addHandler", () => {
  it("bundles each file, though they lie in one folder, and gives it to its topic", async () => {
    const { app, stack, queue } = shop();
    queue.addHandler("mail", file("mail.ts", greeting("mail")));
    queue.addHandler("refund", file("refund.ts", greeting("refund")));
    const template = Template.fromStack(stack).toJSON() as StackTemplate;
    app.synth();
    const said = await Promise.all(
      resourcesOf(template, "AWS::Lambda::EventSourceMapping").map(async ([, mapping]) => {
        const { Ref: id } = mapping.Properties.FunctionName as { Ref: string };
        const { S3Key: key } = (template.Resources[id] as Resource).Properties.Code as { S3Key: string };
        const bundle = join(folder, "cdk.out", `asset.${key.replace(".zip", "")}`, "index.cjs");
        const { handler } = (await import(pathToFileURL(bundle).href)) as { handler: () => Promise<string> };
        return [id.replace(/Function.*/, ""), await handler()];
      }),
    );
    expect(said).toEqual([
      ["JobsHandlermail", "mail"],
      ["JobsHandlerrefund", "refund"],
    ]);
  });

  it("makes a function that keeps the invariants of the construct's own functions", () => {
    const { stack, queue } = shop();
    queue.addHandler("mail", file("mail.ts", greeting("mail")));
    const template = Template.fromStack(stack).toJSON() as StackTemplate;
    const ids = INVARIANTS.filter(({ type }) => type === "AWS::Lambda::Function").flatMap((invariant) =>
      offenders(invariant, template),
    );
    expect(ids.filter((id) => id.startsWith("JobsHandler"))).toEqual([]);
  });

  it("takes timeout, memory, environment and batch size, and returns the function", () => {
    const { stack, queue } = shop();
    const fn = queue.addHandler("mail", file("mail.js", "export const handler = () => {};"), {
      timeout: "2m",
      memorySize: 1024,
      environment: { BANK: "https://bank.example" },
      batchSize: 3,
    });
    fn.addEnvironment("MORE", "1");
    const template = Template.fromStack(stack);
    template.hasResourceProperties("AWS::Lambda::Function", {
      Timeout: 120,
      MemorySize: 1024,
      Environment: { Variables: { BANK: "https://bank.example", MORE: "1" } },
    });
    template.hasResourceProperties("AWS::Lambda::EventSourceMapping", { BatchSize: 3 });
  });

  it("takes the CDK's options for VPC, layers, storage and more", () => {
    const { stack, queue } = shop();
    const vpc = new Vpc(stack, "Vpc", { maxAzs: 1, natGateways: 1 }) as IVpc;
    const securityGroups = [new SecurityGroup(stack, "Group", { vpc })];
    queue.addHandler("mail", file("mail.ts", greeting("mail")), {
      description: "Sends mails",
      vpc,
      vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
      securityGroups,
      tracing: Tracing.ACTIVE,
      layers: [LayerVersion.fromLayerVersionArn(stack, "Layer", LAYER)],
      ephemeralStorageSize: Size.mebibytes(1024),
      reservedConcurrentExecutions: 7,
      logRetention: RetentionDays.THREE_DAYS,
    });
    const template = Template.fromStack(stack);
    template.hasResourceProperties("AWS::Lambda::Function", {
      Description: "Sends mails",
      VpcConfig: { SecurityGroupIds: [Match.anyValue()], SubnetIds: [Match.anyValue()] },
      TracingConfig: { Mode: "Active" },
      Layers: [LAYER],
      EphemeralStorage: { Size: 1024 },
      ReservedConcurrentExecutions: 7,
    });
    const logs = template.findResources("AWS::Logs::LogGroup", { Properties: { RetentionInDays: 3 } });
    expect(Object.keys(logs)).toEqual([expect.stringMatching(/^JobsHandlermailLog/)]);
  });

  it("lets Lambda connect a function to its VPC, but not the code of the function, and needs no managed policy", () => {
    const { app, stack, queue } = shop();
    const vpc = new Vpc(stack, "Vpc", { maxAzs: 1, natGateways: 1 }) as IVpc;
    queue.addHandler("mail", file("mail.ts", greeting("mail")), { vpc });
    queue.addHandler("refund", file("refund.ts", greeting("refund")));
    const template = Template.fromStack(stack).toJSON() as StackTemplate;
    const network = resourcesOf(template, "AWS::IAM::Policy").flatMap(([id, { Properties }]) =>
      (Properties.PolicyDocument as { Statement: { Action: string | string[] }[] }).Statement.filter(
        ({ Action }) => [Action].flat().some((action) => action.startsWith("ec2:")),
      ).map((statement) => [id.replace(/RoleDefaultPolicy.*/, ""), statement]),
    );
    const Action = expect.arrayContaining(["ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface"]);
    expect(network).toEqual([
      ["JobsHandlermail", { Effect: "Allow", Action, Resource: "*" }],
      [
        "JobsHandlermail",
        {
          Effect: "Deny",
          Action,
          Resource: "*",
          Condition: { Null: { "lambda:SourceFunctionArn": "false" } },
        },
      ],
    ]);
    const roles = resourcesOf(template, "AWS::IAM::Role").filter(([id]) => id.startsWith("JobsHandler"));
    expect(roles.filter(([, { Properties }]) => Properties.ManagedPolicyArns !== undefined)).toEqual([]);
    expect(new AwsSolutionsChecks(app).validateScope(queue).violations).toEqual([]);
  });

  it("leaves external modules out of the bundle", () => {
    const { app, stack, queue } = shop();
    const entry = file("mail.ts", 'import sharp from "sharp";\nexport const handler = () => sharp();\n');
    expect(() => queue.addHandler("mail", entry)).toThrow('Could not resolve "sharp"');
    queue.addHandler("mail", entry, { bundling: { externalModules: ["sharp"] } });
    const template = Template.fromStack(stack);
    app.synth();
    const [{ Properties }] = Object.values(
      template.findResources("AWS::Lambda::Function", {
        Properties: { Description: Match.stringLikeRegexp("mail") },
      }),
    ) as [Resource];
    const { S3Key: key } = Properties.Code as { S3Key: string };
    const code = readFileSync(
      join(folder, "cdk.out", `asset.${key.replace(".zip", "")}`, "index.cjs"),
      "utf8",
    );
    expect(code).toContain('require("sharp")');
  });

  it("warns of packages of the AWS SDK that are not installed, and refuses other packages", () => {
    const { stack, queue } = shop();
    const imports = 'import "@aws-sdk/client-made-up";\nimport "@smithy/made-up/sub";\n';
    queue.addHandler("mail", file("mail.ts", imports + greeting("mail")));
    const warnings = Annotations.fromStack(stack).findWarning("*", Match.stringLikeRegexp("not-installed"));
    expect(warnings.map(({ entry }) => entry.data)).toEqual([
      expect.stringContaining(
        'the handler of topic "mail" in ' +
          `${join(folder, "mail.ts")} imports @aws-sdk/client-made-up and @smithy/made-up/sub: ` +
          "no such package is installed, so the function expects it in Lambda's runtime",
      ),
    ]);
    const other = file("other.ts", 'import "aws-sdk-made-up";\nexport const handler = 1;\n');
    expect(() => queue.addHandler("refund", other)).toThrow('Could not resolve "aws-sdk-made-up"');
  });

  it("bundles one file for two topics, each with its own external modules", () => {
    const { app, stack, queue } = shop();
    const folderOf = join(folder, "node_modules", "sharp");
    mkdirSync(folderOf, { recursive: true });
    writeFileSync(join(folderOf, "index.js"), 'export default () => "bundled sharp";');
    writeFileSync(join(folderOf, "package.json"), '{"name": "sharp", "type": "module", "main": "index.js"}');
    const entry = file("mail.ts", 'import sharp from "sharp";\nexport const handler = () => sharp();\n');
    queue.addHandler("mail", entry, { bundling: { externalModules: ["sharp"] } });
    queue.addHandler("refund", entry);
    const template = Template.fromStack(stack).toJSON() as StackTemplate;
    app.synth();
    const bundled = resourcesOf(template, "AWS::Lambda::Function").flatMap(([id, { Properties }]) => {
      if (!id.startsWith("JobsHandler")) return [];
      const { S3Key: key } = Properties.Code as { S3Key: string };
      const code = join(folder, "cdk.out", `asset.${key.replace(".zip", "")}`, "index.cjs");
      return [[id.replace(/Function.*/, ""), readFileSync(code, "utf8").includes("bundled sharp")]];
    });
    expect(bundled).toEqual([
      ["JobsHandlermail", false],
      ["JobsHandlerrefund", true],
    ]);
  });

  it("gives a function the default tracing and description if these options are undefined", () => {
    const app = new App({ outdir: join(folder, "cdk.out") });
    const stack = new Stack(app, "Shop");
    const queue = new DelayQueue(stack, "Jobs", { topics: { mail: {} }, removable: true, tracing: true });
    const options = { tracing: undefined, description: undefined } as object;
    queue.addHandler("mail", file("mail.ts", greeting("mail")), options);
    Template.fromStack(stack).hasResourceProperties("AWS::Lambda::Function", {
      Description: "Runs the jobs of topic mail",
      TracingConfig: { Mode: "Active" },
    });
  });

  it("refuses an unknown option with the nearest known name, also in plain JavaScript", () => {
    const { queue } = shop();
    const mail = file("mail.ts", greeting("mail"));
    const add = (options: object) => () => queue.addHandler("mail", mail, options);
    expect(add({ memory: 128 })).toThrow(
      'DelayQueue Shop/Jobs: addHandler has an unknown option "memory" (did you mean "memorySize"?); allowed are batchSize, timeout, ',
    );
    expect(add({ bundling: { external: ["x"] } })).toThrow('bundling has an unknown option "external"');
    expect(() => queue.addConsumer("mail", undefined as never, { batchsize: 1 } as never)).toThrow(
      'addConsumer has an unknown option "batchsize" (did you mean "batchSize"?); allowed are batchSize',
    );
    expect(add({ memory: undefined })).not.toThrow();
  });

  it("maps stack traces to the files and lines of the source, unless that is turned off", () => {
    const throwing =
      'interface Bank {}\n\nexport const handler = () => {\n  throw new Error("no bank");\n};\n';
    /** Synthesises the handler, runs it in a new process as its function does, and answers the bundle's files and the stack. */
    const run = (options?: HandlerOptions) => {
      const { stack, queue } = shop();
      const fn = queue.addHandler("mail", file("mail.ts", throwing), options);
      const template = Template.fromStack(stack).toJSON() as StackTemplate;
      const { Code, Environment } = (
        template.Resources[stack.getLogicalId(fn.node.defaultChild as CfnFunction)] as Resource
      ).Properties as { Code: { S3Key: string }; Environment: { Variables: Record<string, string> } };
      const code = join(folder, "cdk.out", `asset.${Code.S3Key.replace(".zip", "")}`);
      const index = JSON.stringify(join(code, "index.cjs"));
      const program = `import(${index}).then(({ handler }) => handler()).catch((error) => console.log(error.stack))`;
      const { NODE_OPTIONS } = Environment.Variables;
      const env = NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS };
      const shown = execFileSync(process.execPath, ["-e", program], { env, encoding: "utf8" });
      return { options: NODE_OPTIONS, files: readdirSync(code), stack: shown };
    };
    const mapped = run();
    expect(mapped).toMatchObject({ options: "--enable-source-maps" });
    expect(mapped.stack).toMatch(/mail\.ts:4:9/);
    const environment = { NODE_OPTIONS: "--stack-trace-limit=20 --enable-source-maps" };
    expect(run({ environment }).options).toBe("--stack-trace-limit=20 --enable-source-maps");
    const plain = run({ sourceMaps: false });
    expect(plain).toMatchObject({ options: undefined, files: ["index.cjs"] });
    expect(plain.stack).toMatch(/index\.cjs:\d+/);
  });

  it("puts no text of the sources into the source map, and the same map whatever the folder of the app is", () => {
    const entry = file("mail.ts", greeting("mail"));
    const { map } = bundle(entry, folder, { sourceMap: true });
    const { sources, sourcesContent } = JSON.parse(new TextDecoder().decode(map));
    expect({ sources, sourcesContent }).toEqual({ sources: ["mail.ts"], sourcesContent: undefined });
    expect(bundle(entry, folder).map).toBeUndefined();
  });

  it("refuses wrong arguments, and says what is allowed", () => {
    const { queue } = shop();
    const mail = file("mail.ts", greeting("mail"));
    expect(() => queue.addHandler("mail", "no-such.ts")).toThrow(
      'must be a file, but there is no file "no-such.ts" in ',
    );
    expect(() => queue.addHandler("mail", folder)).toThrow("must be a file");
    expect(() => queue.addHandler("letter", mail)).toThrow('topic "letter" is not declared');
    expect(() => queue.addHandler("work", mail)).toThrow('"work" is a pull topic');
    expect(() => queue.addHandler("mail", mail, { timeout: Duration.seconds(9) })).toThrow("got 9 s");
    expect(() => queue.addHandler("mail", mail, { timeout: "1 minute" as "1m" })).toThrow(
      'the timeout of a handler must be a number of seconds (0 or more), or a text such as "90s", "30m", "1h30m" or "7d", got "1 minute"',
    );
    expect(() => queue.addHandler("mail", mail, { timeout: Duration.minutes(16) })).toThrow(
      "the timeout of a handler must be 10 to 900 s, got 960 s",
    );
    expect(() => queue.addHandler("mail", mail, { memorySize: 64 })).toThrow("from 128 to 10240, got 64");
    expect(() => queue.addHandler("mail", mail, { environment: { "MAIL-FROM": "x" } })).toThrow(
      'must be a letter, then letters, digits and _, at least 2 characters, got "MAIL-FROM"',
    );
    expect(() => queue.addHandler("mail", mail, { logRetention: 10 as never })).toThrow(
      "the logRetention of a handler must be a value of RetentionDays, such as RetentionDays.ONE_WEEK, got 10",
    );
    const other = file("other.ts", "export const handle = 1;\n");
    expect(() => queue.addHandler("mail", other)).toThrow(
      `must export "handler" (export const handler = …), but ${other} exports handle`,
    );
    const nothing = file("nothing.ts", "export {};");
    expect(() => queue.addHandler("mail", nothing)).toThrow(`but ${nothing} exports nothing by name`);
    const unnamed = file("unnamed.ts", "export default () => {};");
    expect(() => queue.addHandler("mail", unnamed)).toThrow(`but ${unnamed} exports nothing by name`);
    const awaiting = file("awaiting.ts", "export const handle = await 1;");
    expect(() => queue.addHandler("mail", awaiting)).toThrow(`but ${awaiting} exports handle`);
    expect(() => queue.addHandler("mail", file("broken.ts", "export const = 1;\n"))).toThrow(
      "broken.ts:1:13",
    );
    queue.addHandler("mail", mail);
    expect(() => queue.addHandler("mail", mail)).toThrow("already has the consumer");
  });
});

describe("a stack's outputs", () => {
  const described = (template: StackTemplate) =>
    Object.values(template.Outputs as Record<string, { Description?: string; Value: unknown }>).map(
      ({ Description, Value }) => [Description, JSON.stringify(Value)],
    );

  it("tell a command line where the API and the table are, whatever the construct's id is", () => {
    const { stack } = shop();
    const outputs = described(Template.fromStack(stack).toJSON() as StackTemplate);
    expect(outputs).toEqual([
      ["Minutehand API", expect.stringMatching(/JobsApiHttp\w*","ApiEndpoint"/)],
      ["Minutehand table", expect.stringMatching(/"Ref":"JobsPoolTable/)],
    ]);
  });

  it("name no API where there is none", () => {
    const stack = new Stack(new App(), "Shop");
    new DelayQueue(stack, "Jobs", { topics: { mail: {} }, api: { auth: "none" } });
    const outputs = described(Template.fromStack(stack).toJSON() as StackTemplate);
    expect(outputs.map(([description]) => description)).toEqual(["Minutehand table"]);
  });
});
