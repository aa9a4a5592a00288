/** The stages of a turn as a time line: live from progress events while it runs, then from its receipt. */

import { h } from "./dom.js";
import { stageName } from "./route.js";
import { plural, seconds } from "./words.js";

/** One bar for each stage: where it begins and how long it took, as shares of the whole. */
function row({ name, from, length, total, note, live }) {
  const bar = h("span.time-bar", { "aria-hidden": "true" });
  bar.style.setProperty("--from", String(from / total));
  bar.style.setProperty("--length", String(Math.max(length / total, 0.006)));
  return h(
    "li",
    { class: live ? "live" : null },
    h("span.time-name", {}, name),
    h("span.time-note", {}, note),
    h("span.time-track", {}, bar),
  );
}

/** The time line of a receipt. Stages follow one another; parallel calls of one stage are one bar. */
export function finished(receipt) {
  const stages = Object.entries(receipt.by_stage);
  const spent = stages.reduce((sum, [, stage]) => sum + stage.seconds, 0);
  const total = Math.max(spent, 0.001);
  let from = 0;
  const rows = stages.map(([name, stage]) => {
    const tokens = stage.input_tokens + stage.output_tokens;
    const calls = stage.calls ? plural(stage.calls, "call") : null;
    const note = [calls, tokens ? plural(tokens, "token") : null, seconds(stage.seconds)].filter(Boolean).join(" · ");
    const made = row({ name: stageName(name), from, length: stage.seconds, total, note, live: false });
    from += stage.seconds;
    return made;
  });
  return h("ol.timeline", {}, rows);
}

/** What is known of a running turn: each stage that began, with the last thing it said. */
export class Progress {
  constructor() {
    this.began = performance.now();
    this.stages = [];
    this.note = "";
  }

  get elapsed() {
    return (performance.now() - this.began) / 1000;
  }

  /** The moment of an event as the server counts it, which may be long before it is heard. */
  #at(seconds) {
    if (typeof seconds !== "number") return this.elapsed;
    this.began = Math.min(this.began, performance.now() - seconds * 1000);
    return seconds;
  }

  /** A stage said something; the first time, it begins. */
  moved({ stage, note, done, total, seconds: at }) {
    this.note = note;
    const from = this.#at(at);
    const known = this.stages.find((one) => one.stage === stage && one.until === null);
    if (known) Object.assign(known, { note, done, total });
    else this.stages.push({ stage, note, done, total, from, until: null });
  }

  /** A stage has ended. */
  ended({ stage, seconds: at }) {
    const known = this.stages.find((one) => one.stage === stage && one.until === null);
    const until = this.#at(at);
    if (known) known.until = until;
  }

  /** The time line so far. */
  view() {
    const total = Math.max(this.elapsed, 0.05);
    return h(
      "ol.timeline",
      {},
      this.stages.map((one) => {
        const until = one.until ?? this.elapsed;
        const count = one.total ? `${one.done ?? 0} of ${one.total} · ` : "";
        const note = count + seconds(until - one.from);
        const name = stageName(one.stage);
        return row({ name, from: one.from, length: until - one.from, total, note, live: one.until === null });
      }),
    );
  }
}
