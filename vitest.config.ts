import { join } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { HANG_MS, PATIENCE_MS } from "./test/patience.ts";
import tsconfig from "./tsconfig.json" with { type: "json" };

const { paths } = tsconfig.compilerOptions;
/** Vitest does not run projects with different numbers of workers together, so the other projects run after `template`. */
const AFTER_TEMPLATE = { groupOrder: 1 };

// For each app that it synthesises, the CDK loads all schemas of CloudFormation, which takes three seconds of CPU time. Programs
// that tests start inherit this variable. test/deploy/synth.long.test.ts turns the validation on again, and treats its findings as errors.
process.env.CDK_VALIDATION = "false";

// Tests start some hundred processes of Node. With cached compiled code, a command of the command line takes half the CPU time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules", ".cache", "minutehand-tests");

/** End-to-end tests wait for their jobs. They begin first, and the other files run while they wait. */
const FIRST = /\/e2e\//;

type ProjectTest = NonNullable<TestProjectInlineConfiguration["test"]>;

const LONG = "**/*.long.test.ts";
/**
 * Which test files a mode leaves out. A file that needs more than a few seconds of CPU time for what it proves, or waits for a minute, is
 * named `*.long.test.ts`. `npm test` leaves these files out, `npm run test:long` (the mode `long`) runs only these, and any
 * other mode, such as `all`, leaves nothing out.
 */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  test: [LONG],
  long: ["**/!(*.long).test.ts"],
};

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { waiting = [], others = [] } = Object.groupBy(await super.sort(files), ({ moduleId }) =>
      FIRST.test(moduleId) ? "waiting" : "others",
    );
    return [...waiting, ...others];
  }
}

/**
 * `unit`: pure rules, the protocol over the in-memory services, and the programs. `security`: hostile input, and the content of logs
 * and roles. Files of `security` replace modules, so each file has a worker of its own. `contract`: each port's suite against
 * the services in memory, the simulator's services and the emulators. `sim`: histories of the simulator. `template`: the synthesised
 * templates. `e2e`: the embedded stack over HTTP. `browser`: the console in Chromium, over the embedded stack, and the calculator. `life`: deployments
 * one after the other, to the place that `npm run test:deploy` chooses.
 */
const PROJECTS: readonly ProjectTest[] = [
  {
    name: "unit",
    sequence: AFTER_TEMPLATE,
    // The files of a worker share its loaded modules, because loading took a third of the CPU time. So a test must undo its
    // changes to the process, and a module must not keep the state of one queue for the next.
    isolate: false,
    include: [
      "test/{layers,lengths,workflows,release,programs}.test.ts",
      "test/docs/{pages,rooms,any-language.long,moving-blocks.long,python-blocks.long,ruby-blocks.long,shell-blocks.long,sign-blocks.long,words}.test.ts",
      "test/{types,cli,core,settings,cron,general,examples,protocol,client,consumer,environment,functions,http,local,console,bench,deploy,package,properties,site,testing,torture}/**/*.test.ts",
    ],
    exclude: ["test/testing/memory-*.test.ts"],
  },
  { name: "security", sequence: AFTER_TEMPLATE, include: ["test/security/**/*.test.ts"] },
  {
    name: "contract",
    sequence: AFTER_TEMPLATE,
    include: ["test/aws/**/*.test.ts", "test/testing/memory-*.test.ts", "test/sim/services.test.ts"],
  },
  {
    name: "sim",
    sequence: AFTER_TEMPLATE,
    // Let Node load the sources. In Vitest's own modules each use of an import calls a getter, and histories use imports in loops.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    include: [
      "test/sim/{world,alarms,mutants}/*.test.ts",
      "test/sim/{simulate,histories.long}.test.ts",
      "test/judge/*.test.ts",
    ],
  },
  {
    name: "template",
    // The CDK takes seconds to load, so load it once and not for each file.
    isolate: false,
    maxWorkers: 1,
    // Otherwise the CDK copies all bundles for each app, and deleting these thousands of files took longer than the tests.
    env: { CDK_CONTEXT_JSON: JSON.stringify({ "aws:cdk:disable-asset-staging": true }) },
    include: ["test/infra/**/*.test.ts", "test/docs/{tables,plain-blocks,code-blocks.long}.test.ts"],
  },
  {
    name: "e2e",
    sequence: AFTER_TEMPLATE,
    include: ["test/e2e/**/*.test.ts"],
    globalSetup: ["test/e2e/setup.ts"],
  },
  {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/setup.ts"],
    // Pages and the stack share two cores. More pages at once would only make each of them slow.
    maxWorkers: 2,
  },
  { name: "life", sequence: AFTER_TEMPLATE, include: ["test/life/**/*.test.ts"] },
];

export default defineConfig(({ mode }) => {
  const leftOut = LEFT_OUT[mode] ?? [];
  return {
    // The examples import the package by its name.
    resolve: {
      alias: Object.fromEntries(
        Object.entries(paths).map(([name, [source = ""]]) => [name, join(import.meta.dirname, source)]),
      ),
    },
    test: {
      // Tests spend much of their time waiting until jobs fall due, so run many files at once, also the longest.
      maxWorkers: 6,
      sequence: { sequencer: WaitingFirst },
      globalSetup: ["test/temporary-folder.ts"],
      passWithNoTests: mode === "long",
      // These limits only end tests that hang.
      testTimeout: HANG_MS,
      hookTimeout: HANG_MS,
      teardownTimeout: HANG_MS,
      expect: { poll: { timeout: PATIENCE_MS } },
      projects: PROJECTS.map((test) => ({
        extends: true as const,
        test: { ...test, exclude: [...leftOut, ...(test.exclude ?? [])] },
      })),
    },
  };
});
