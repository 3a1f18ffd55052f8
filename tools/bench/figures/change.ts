import { GetItemCommand, PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { directOn } from "../../../src/client/direct-client.ts";
import { DAY } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import { homeKey, lookAt } from "../../../src/core/item-keys.ts";
import type { Figure } from "../figure.ts";
import { FAR, homesOf, newJobs } from "../jobs.ts";
import { load } from "../load.ts";
import { attributesOf, insertAll } from "../plain-table.ts";
import type { Rig } from "../rig.ts";
import { alternate, medianRatio, type Rounds } from "../rounds.ts";
import { median } from "../statistics.ts";
import { perSecond, type Row } from "../table.ts";

const COUNT = 1500;
const CALLERS = 8;

/** Ceilings. A cancel: a conditional update by the id. A reschedule: a read of the revision, the put of a look and such an update. */
export const change: Figure = {
  name: "change",
  what: `cancel and reschedule through the direct client, ${CALLERS} callers`,
  async measure(rig) {
    const client = directOn(rig.ctx, console);
    const jobs = () => insertJobs(rig);
    const time = Date.now() + FAR + DAY;
    const each = (homes: Home[], call: (home: Home) => Promise<unknown>) =>
      load(homes.length, CALLERS, (index) => call(homes[index] as Home)).then(({ perSecond }) => perSecond);

    const cancelled = await alternate(
      rig.rounds,
      async () => each(await jobs(), ({ id }) => client.cancel(id)),
      async () => each(await jobs(), (home) => plainCancel(rig, home)),
    );
    const moved = await alternate(
      rig.rounds,
      async () =>
        each(await jobs(), ({ id }) => client.reschedule(id, { dueAt: new Date(time).toISOString() })),
      async () => each(await jobs(), (home) => plainReschedule(rig, home, time)),
    );
    return [row("cancel", cancelled), row("reschedule", moved)];
  },
};

async function insertJobs({ ctx, plain, stack, count }: Rig): Promise<Home[]> {
  const homes = await homesOf(
    ctx,
    newJobs(count(COUNT), "reminders", () => Date.now() + FAR),
  );
  await insertAll(plain.dynamo, stack.tableName, attributesOf(homes));
  return homes;
}

function plainCancel({ plain, stack }: Rig, { id }: Home): Promise<unknown> {
  const values = {
    ":s": "scheduled",
    ":c": "cancelled",
    ":f": Date.now(),
    ":e": Math.ceil(Date.now() / 1000),
  };
  return plain.dynamo.send(
    new UpdateItemCommand({
      TableName: stack.tableName,
      Key: marshall(homeKey(id)),
      UpdateExpression: "SET #s = :c, finishedAt = :f, expiresAt = :e",
      ConditionExpression: "#s = :s",
      ExpressionAttributeNames: { "#s": "state" },
      ExpressionAttributeValues: marshall(values),
      ReturnValues: "ALL_NEW",
    }),
  );
}

async function plainReschedule({ plain, stack }: Rig, { id }: Home, time: number): Promise<unknown> {
  const address = { TableName: stack.tableName, Key: marshall(homeKey(id)) };
  const { Item } = await plain.dynamo.send(new GetItemCommand({ ...address, ConsistentRead: true }));
  const revision = Number(Item?.revision?.N);
  await plain.dynamo.send(
    new PutItemCommand({
      TableName: stack.tableName,
      Item: marshall(lookAt(id, time)),
      ConditionExpression: "attribute_not_exists(pk)",
    }),
  );
  return plain.dynamo.send(
    new UpdateItemCommand({
      ...address,
      UpdateExpression: "SET #s = :s, dueAt = :d, wantedAt = :d, revision = :n, attempt = :a",
      ConditionExpression: "#s = :s AND revision = :r",
      ExpressionAttributeNames: { "#s": "state" },
      ExpressionAttributeValues: marshall({
        ":s": "scheduled",
        ":d": time,
        ":n": revision + 1,
        ":r": revision,
        ":a": 0,
      }),
      ReturnValues: "ALL_NEW",
    }),
  );
}

function row(figure: string, { ours, ceiling }: Rounds<number>): Row {
  return {
    figure,
    ours: perSecond(median(ours)),
    ceiling: perSecond(median(ceiling)),
    ratio: medianRatio(ours, ceiling),
  };
}
