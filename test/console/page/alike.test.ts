import { describe, expect, test } from "vitest";
import { groupByError } from "../../../console/page/error-groups.ts";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";

function groupsOf(errors: readonly string[]): [string, number][] {
  const job = { topic: "bills", dueAt: "2026-11-26T10:00:00.000Z" };
  const jobs = errors.map((lastError, index) => ({ ...job, id: `job-${index}`, lastError }) as JobSummary);
  return groupByError(jobs).map(({ name, jobs: alike }) => [name, alike.length]);
}

/** Errors with names of people, companies, cities and files, which real programs tell. Each line is one group. */
const NAMED: readonly (readonly [name: string, ...errors: string[]])[] = [
  [
    "customer … has no address",
    "customer Müller & Söhne has no address",
    "customer Bäckerei Schmidt GmbH has no address",
    "customer Anna Kowalska has no address",
    "customer IKEA Deutschland has no address",
    "customer adidas has no address",
  ],
  [
    "Invoice for … could not be sent",
    "Invoice for Ann Lee could not be sent",
    "Invoice for Bob could not be sent",
  ],
  [
    "no IBAN of …: ask the shop (bill.ts:…)",
    "no IBAN of José García: ask the shop (bill.ts:12)",
    "no IBAN of Nguyễn Văn An: ask the shop (bill.ts:12)",
    "no IBAN of Smith, Jones & Co: ask the shop (bill.ts:40)",
  ],
  [
    "HTTP 422: the company … is not in the register",
    "HTTP 422: the company Ørsted A/S is not in the register",
    "HTTP 422: the company Fabryka Mebli Forte is not in the register",
    "HTTP 422: the company Bank of America is not in the register",
  ],
  ["… has no open orders", "Müller & Söhne has no open orders", "Café de Flore has no open orders"],
  [
    "the mail to … was refused",
    "the mail to jörg@müller.example was refused",
    "the mail to ann.lee+shop@mail.example was refused",
  ],
  [
    "cannot open …",
    "cannot open /srv/kunden/Müller/Rechnung.pdf",
    "cannot open C:\\Bills\\Lee.pdf",
    "cannot open bill-lee.docx",
  ],
  [
    "no customer … in the shop",
    "no customer „Müller“ in the shop",
    "no customer «Café Noir» in the shop",
    "no customer ‘Ann’ in the shop",
  ],
  ["客户 … 没有地址", ...["张伟", "王芳", "李娜", "刘洋", "陈静"].map((name) => `客户 ${name} 没有地址`)],
  [
    "city … is not served",
    ...["Berlin", "Hamburg", "New York", "Paris", "Rome"].map((city) => `city ${city} is not served`),
  ],
  [
    "the login … is locked",
    ...["anna", "bob", "carl", "dora", "emil", "fritz"].map((login) => `the login ${login} is locked`),
  ],
  [
    "EUR … from … to … was declined by the bank",
    "EUR 12.50 from Ann Lee to Bob Gray was declined by the bank",
    "EUR 1,200.00 from Carl Öz to Dora Mills was declined by the bank",
  ],
];

describe("errors that differ by names only are one group", () => {
  test.each(NAMED)("%s", (name, ...errors) => {
    expect(groupsOf(errors)).toEqual([[name, errors.length]]);
  });

  test("also while they are mixed", () => {
    const errors = NAMED.flatMap(([, ...some]) => some);
    expect(errors.length).toBeGreaterThanOrEqual(35);
    expect(new Map(groupsOf(errors))).toEqual(new Map(NAMED.map(([name, ...some]) => [name, some.length])));
  });
});

test.each<[string, ...string[]]>([
  ["statuses", "the shop answered 503 to us", "the shop answered 404 to us"],
  ["statuses of a client", "Request failed with status code 503", "Request failed with status code 404"],
  ["codes of errors", "connect ECONNREFUSED …", "connect ETIMEDOUT …", "connect ECONNRESET …"],
  ["classes of errors", "ValueError: no price in the order", "KeyError: no price in the order"],
  [
    "read properties",
    "Cannot read properties of undefined (reading 'price')",
    "Cannot read properties of undefined (reading 'id')",
  ],
  ["places in the code", "no price in the order (a.ts:1)", "no price in the order (b.ts:1)"],
  [
    "verbs",
    "the card of the user was declined",
    "the card of the user was stolen",
    "the card of the user was expired",
  ],
  [
    "reasons of HTTP",
    "the shop answered us: Bad Gateway",
    "the shop answered us: Service Unavailable",
    "the shop answered us: Gateway Timeout",
  ],
  ["reasons in capitals", "payment failed with Card Declined", "payment failed with Insufficient Funds"],
  ["first words", "Order not found in shop", "Customer not found in shop", "Article not found in shop"],
  ["short errors", "Card Declined", "Insufficient Funds", "Müller & Söhne"],
  ["what is wanted", "the handler for Refund failed here", "the handler for Payment failed here"],
  ["fields", "das Feld Straße fehlt im Auftrag", "das Feld Tür fehlt im Auftrag"],
  ["rules", "customer Müller & Söhne has no address", "customer Bäckerei Schmidt has no phone"],
])("errors that differ by %s stay apart", (_, ...errors) => {
  expect(groupsOf(errors.flatMap((error) => [error, error]))).toHaveLength(errors.length);
});

test("many kinds are grouped quickly", () => {
  const errors = Array.from(
    { length: 5000 },
    (_, index) =>
      `customer ${String.fromCharCode(65 + (index % 26))}${"abcdefghij"[index % 10]}x Ö${"klmnopqrst"[Math.floor(index / 260) % 10]} has ${["no", "an old", "a wrong"][index % 3]} address`,
  );
  // µs of CPU time, which does not depend on other programs.
  const begun = process.threadCpuUsage();
  expect(groupsOf(errors)).toHaveLength(3);
  expect(process.threadCpuUsage(begun).user).toBeLessThan(1_000_000);
});

describe("an id of letters only", () => {
  const declined = (id: string) => `card of customer ${id} was declined`;
  const IDS = ["cus_4fk9x", "cus_a81kd", "cus_kd92x", "cus_zz3zz", "cus_9rrt4", "cus_pq7ra", "cus_mm0m1"];
  const LETTERS = ["cus_dhrsi", "cus_cmddn"];

  test.each<[string, ...string[]]>([
    ["card of customer cus_… was declined", ...[...IDS, ...LETTERS].map(declined)],
    [
      "no order-… in the shop",
      ...[...IDS, ...LETTERS].map((id) => `no ${id.replace("cus_", "order-")} in the shop`),
    ],
  ])("joins the errors with such ids: %s", (name, ...errors) => {
    expect(groupsOf(errors)).toEqual([[name, errors.length]]);
  });

  test("joins them in a text that is cut", () => {
    const errors = [...IDS, ...LETTERS].map(
      (id) => `${declined(id)} ${"and it is the last card ".repeat(8)}`,
    );
    expect(groupsOf(errors)).toHaveLength(1);
  });

  test.each<[string, readonly string[], ...string[]]>([
    ["there are no such ids", [], "error_timeout", "error_refused"],
    ["the text is another one", IDS.map(declined), "card of customer cus_dhrsi was stolen"],
    ["the prefix is another one", IDS.map(declined), declined("err_dhrsi")],
    ["it has another length", IDS.map(declined), declined("cus_stolen")],
    [
      "the ids have one pattern",
      [1, 2, 3, 4, 5, 6, 7].map((n) => declined(`cus_e10${n}`)),
      declined("cus_auth"),
    ],
    [
      "the ids are numbers",
      [1, 2, 3, 4, 5, 6, 7].map((n) => declined(`cus_7100${n}`)),
      declined("cus_empty"),
    ],
    ["there are few ids", IDS.slice(3).map(declined), declined("cus_dhrsi")],
    ["it is more frequent", IDS.map(declined), declined("cus_limit"), declined("cus_limit")],
  ])("stays apart if %s", (_, errors, ...others) => {
    const groups = groupsOf([...errors, ...others]);
    expect(groups.filter(([name]) => !name.includes("…"))).toEqual(groupsOf(others));
  });

  test("is found quickly among many errors", () => {
    const errors = Array.from({ length: 10_000 }, (_, index) => {
      const digits = (index * 7919).toString(36).padStart(5, "k7");
      return declined(
        `cus_${index % 2 ? digits : digits.replace(/\d/g, (digit) => "qrstuvwxyz"[Number(digit)] ?? "")}`,
      );
    });
    // µs of CPU time, which does not depend on other programs.
    const begun = process.threadCpuUsage();
    expect(groupsOf(errors)[0]?.[1]).toBeGreaterThan(9000);
    expect(process.threadCpuUsage(begun).user).toBeLessThan(3_000_000);
  });
});
