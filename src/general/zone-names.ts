/**
 * Scheduler uses the IANA Time Zone Database too ("Schedule types in EventBridge Scheduler": Time zones). `Intl` accepts more, which
 * Scheduler may refuse: names in any case, and `BST` as Asia/Dhaka.
 */

/** Names that `Intl.supportedValuesOf` leaves out. Which spellings these are differs between versions of Node.js. */
const LINKS: Readonly<Record<string, string>> = {
  Africa: "Asmara Asmera Timbuktu",
  America:
    "Argentina/Buenos_Aires Argentina/Catamarca Argentina/ComodRivadavia Argentina/Cordoba Argentina/Jujuy " +
    "Argentina/Mendoza Atikokan Atka Buenos_Aires Catamarca Coral_Harbour Cordoba Ensenada Fort_Wayne Godthab " +
    "Indiana/Indianapolis Indianapolis Jujuy Kentucky/Louisville Knox_IN Louisville Mendoza Montreal Nipigon Nuuk " +
    "Pangnirtung Porto_Acre Rainy_River Rosario Santa_Isabel Shiprock Thunder_Bay Virgin Yellowknife",
  Antarctica: "South_Pole",
  Asia:
    "Ashkhabad Calcutta Choibalsan Chongqing Chungking Dacca Harbin Ho_Chi_Minh Istanbul Kashgar Kathmandu Katmandu " +
    "Kolkata Macao Rangoon Saigon Tel_Aviv Thimbu Ujung_Pandang Ulan_Bator Yangon",
  Atlantic: "Faeroe Faroe Jan_Mayen",
  Australia: "ACT Canberra Currie LHI NSW North Queensland South Tasmania Victoria West Yancowinna",
  Brazil: "Acre DeNoronha East West",
  Canada: "Atlantic Central Eastern Mountain Newfoundland Pacific Saskatchewan Yukon",
  Chile: "Continental EasterIsland",
  Etc:
    "GMT GMT+0 GMT+1 GMT+10 GMT+11 GMT+12 GMT+2 GMT+3 GMT+4 GMT+5 GMT+6 GMT+7 GMT+8 GMT+9 GMT-0 GMT-1 GMT-10 GMT-11 " +
    "GMT-12 GMT-13 GMT-14 GMT-2 GMT-3 GMT-4 GMT-5 GMT-6 GMT-7 GMT-8 GMT-9 GMT0 Greenwich UCT UTC Universal Zulu",
  Europe: "Belfast Kiev Kyiv Nicosia Tiraspol Uzhgorod Zaporozhye",
  Mexico: "BajaNorte BajaSur General",
  Pacific: "Chuuk Enderbury Johnston Kanton Pohnpei Ponape Samoa Truk Yap",
  US: "Alaska Aleutian Arizona Central East-Indiana Eastern Hawaii Indiana-Starke Michigan Mountain Pacific Samoa",
};

const WITHOUT_AREA =
  "CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran " +
  "Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore " +
  "Turkey UCT UTC Universal W-SU WET Zulu";

let known: ReadonlySet<string> | undefined;

export function zoneNames(): ReadonlySet<string> {
  known ??= new Set([
    ...Intl.supportedValuesOf("timeZone"),
    ...Object.entries(LINKS).flatMap(([area, places]) =>
      places.split(" ").map((place) => `${area}/${place}`),
    ),
    ...WITHOUT_AREA.split(" "),
  ]);
  return known;
}

const MOST_SUGGESTED = 3;
/** Such as `GMT+3`, `UTC-03:00` or `+03`: not a name. */
const OFFSET = /^(?:GMT|UTC)?([+-])(\d{1,2})(?::?00)?$/i;

/** Suggests names for a misspelt one, the most likely first. There may be none. */
export function nearestZones(text: string): string[] {
  const [, sign, hours] = OFFSET.exec(text) ?? [];
  if (sign !== undefined) return zonesOfOffset(sign, Number(hours));
  const [, named = ""] = /^(?!GMT|UTC)([A-Z]{3,})[+-][\d:]+$/i.exec(text) ?? [];
  const wanted = normalized(zoneNames().has(named.toUpperCase()) ? named : text);
  // A name may differ by one edit in four letters: otherwise each abbreviation would be near a short text such as BST.
  const most = Math.min(Math.floor(wanted.length / 4), 3);
  return [...zoneNames()]
    .map((name) => ({
      name,
      edits: Math.min(
        editDistance(wanted, normalized(name)),
        editDistance(wanted, normalized(placeOf(name))),
      ),
    }))
    .filter((near) => near.edits <= most)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, MOST_SUGGESTED)
    .map(({ name }) => name);
}

/** The names in `Etc` have the sign of POSIX: `Etc/GMT+3` is three hours behind UTC ("etcetera", IANA Time Zone Database). */
function zonesOfOffset(sign: string, hours: number): string[] {
  const name = `Etc/GMT${sign === "+" ? "-" : "+"}${hours}`;
  return zoneNames().has(name) ? [`${name}, which is UTC${sign}${hours}`] : [];
}

const normalized = (text: string): string => text.slice(0, 60).toLowerCase().replaceAll(/[ _-]/g, "");
const placeOf = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

/** How many letters must be inserted, removed or replaced to turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
