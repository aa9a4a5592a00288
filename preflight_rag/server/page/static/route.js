/** The way a question took, in one plain sentence, and the numbers behind it. */

import { h } from "./dom.js";
import { number, plural, seconds } from "./words.js";

export const ROUTES = { auto: "Automatic", plain: "In one go", "map-reduce": "In parts", corg: "Compared and grouped" };

export const ICONS = { plain: "plain", map_reduce: "parts", corg: "groups", abstain: "none", conversation: "chat", listing: "parts", metadata: "plain" };

export const STAGES = {
  rewrite: "Understanding the question",
  retrieve: "Searching",
  preflight: "Choosing how to read",
  answer_plain: "Reading and answering",
  map_context: "Reading the parts",
  reduce_context: "Putting the parts together",
  relate_contexts: "Comparing documents",
  organize_contexts: "Grouping what agrees",
  clarify: "Asking which is meant",
  answer_group: "Answering each of several",
  aggregate_groups: "Setting answers side by side",
  cite: "Checking the quotes",
  abstain: "Finding no answer",
  converse: "Answering from the conversation",
  list_documents: "Looking through all documents",
  read_metadata: "Looking up the document",
};

export const stageName = (stage) => STAGES[stage] ?? stage.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());

/** How many parts map/reduce reads: as `nodes/preflight.py` cuts them. */
const parts = (route, size) => Math.max(1, Math.ceil((route.signals.passages ?? 0) / size));

const FAR = /^no passage found is near/;

const AS_ASKED = ", as you asked.";

/** One sentence for people. `size` is the number of passages in one part. */
export function sentence(answer, size = 4) {
  const { route } = answer;
  const [first, then] = route.reason.split("; then ");
  if (route.name === "conversation") return "Answered from the conversation, without a search.";
  if (route.name === "listing") return "Listed by words, over all documents; nothing was read for an answer.";
  if (route.name === "metadata") return "Looked up in what is known of the document.";
  if (route.name === "abstain") return "Nothing was found that could be read.";
  if (then !== undefined) return route.name === "plain" ? "Read in one go, since reading in parts or comparing gave nothing." : escalated(route, then, size);
  if (route.name === "plain" && !route.forced && FAR.test(first)) {
    // Rows of a table say little in the question's words: what is shown as found must not be called far from it.
    return answer.citations?.length ? "Read in one go." : "No passage that was found is near the question.";
  }
  if (route.name === "plain") return `Read in one go${route.forced ? AS_ASKED : `, since ${plainly(route, first)}.`}`;
  if (route.name === "map_reduce") {
    const how = `Read in ${plural(parts(route, size), "part")}`;
    return `${how}${route.forced ? AS_ASKED : ", so that nothing is overlooked among so much text."}`;
  }
  return `Compared and grouped${route.forced ? AS_ASKED : `, since ${differing(first, answer.relations)}.`}`;
}

function plainly(route, reason) {
  const few = /^only (\d+) passages?/.exec(reason);
  if (few) return few[1] === "1" ? "only one passage was found" : `only ${few[1]} passages were found`;
  if (/fit one map prompt/.test(reason)) return "the passages are short";
  if (/\bagree \(IoU/.test(reason)) return "two ways of searching found the same passages";
  if ((route.iou ?? 0) >= 0.5) return "two ways of searching found the same passages";
  return "reading in parts would hardly answer more";
}

function differing(reason, relations) {
  const several = relations.some(({ kind }) => kind === "distracting");
  const against = relations.some(({ announced }) => announced);
  if (against) return several ? "several things go by this name, and some sources contradict each other" : "sources contradict each other";
  const names = /one name, several things/.test(reason);
  const answers = /different (numbers|answers|dates)|written \d+ years? apart|edited copy/.test(reason);
  if (names && answers) return "several things go by this name, with different answers";
  if (names) return "several things go by this name";
  return answers ? "documents disagree" : "documents speak of different things";
}

function escalated(route, then, size) {
  const why = /verified/.test(then) ? "none of its quotes stood in the documents" : /does not cite says/.test(then) ? "another passage says something else" : /likelier than those it cites/.test(then) ? "another passage seems to answer it better" : "that found nothing";
  const likeliest = /the likeliest (\d+) of those/.exec(then);
  if (likeliest) return `First read in one go; ${why}, so the likeliest of the other passages were read again (${likeliest[1]}).`;
  const rest = /the (\d+) passages that it does not cite/.exec(then);
  if (!rest) return `First read in one go; ${why}, so it was read again in ${plural(parts(route, size), "part")}.`;
  return `First read in one go; ${why}, so the other ${rest[1]} passages were read in ${plural(Math.ceil(rest[1] / size), "part")}.`;
}

const SIGNALS = {
  passages: "Passages read",
  context_tokens: "Their tokens",
  nearness: "Nearness of the nearest (0 to 1)",
  corg: "Score for comparing (0 to 1)",
  corg_names: "Several things of one name",
  corg_values: "Different numbers",
  corg_duplicates: "Near copies",
  corg_dates: "Written years apart",
  corg_answers: "Different answers",
  risk_first_places: "Places of the best passages",
  risk_no_lead: "Lead of the best passages",
  risk_bm25_missed: "Missed by the word search",
  risk_uncovered: "Question not covered",
  risk_untitled: "Question not in titles",
};

/** What is missing when a stage reports a gap; the report itself stands under "How this was answered". */
const GAPS = {
  model: "The language model could not be reached, so this was answered without it.",
  budget: "What may be spent on the language model is used up, so this was answered without it.",
  late: "The language model was not done in the time that a turn has here, so this was answered without it.",
  time: "The language model is slow here, so it read fewer passages.",
  route: "The route chosen gave nothing in time, so fewer passages were read at once.",
  no_reply: "The language model gave no reply that can be used, so this was answered without it.",
  rewrite: "The question was taken as it stands.",
  instructions: "Some of the instructions for answers were not followed.",
  retrieve: "One of the searches failed, so something may be missing.",
  map_context: "Some parts could not be read, so something may be missing.",
  relate_contexts: "Some documents could not be compared.",
  answer_group: "Some of several answers could not be given.",
  aggregate_groups: "Some of several answers could not be given.",
  answer_plain: "The language model's reply was not whole, or not read from all passages.",
  reduce_context: "The language model's reply was not whole, or not made of all parts.",
  cite: "Some quotes could not be checked as usual.",
};

/** What is missing from an answer, one line for each kind. */
export const gapsInWords = (gaps) => [...new Set(gaps.map((gap) => GAPS[isLate(gap) ? "late" : gap.item] ?? GAPS[gap.stage] ?? "Part of the work did not go as usual."))];

/** Whether the time of a slow model's turn has run out, and nothing else that may be spent. */
const isLate = ({ stage, error }) => ["budget", "no_reply"].includes(stage) && /PREFLIGHT_ANSWER_SECONDS/.test(error);

/** The numbers behind the sentence, for those who open them. */
export function numbers(route) {
  const rows = [];
  if (route.risk !== null && route.risk !== undefined) {
    rows.push(["Risk that the key passage is lost", number(route.risk), `in parts from ${number(route.threshold)}`]);
  }
  if (route.iou !== null && route.iou !== undefined) {
    rows.push([`Agreement of both searches' top ${route.top_n} (IoU)`, number(route.iou), "0 none, 1 the same"]);
  }
  const signals = Object.entries(route.signals).map(([name, value]) => [SIGNALS[name] ?? name.replaceAll("_", " "), number(value, 3), ""]);
  const row = ([name, value, note]) =>
    h("tr", {}, h("th", { scope: "row" }, name, note ? h("small", {}, note) : null), h("td", {}, value));
  return h(
    "details.numbers",
    {},
    h("summary", {}, "The numbers behind it"),
    h("p.reason", {}, route.reason),
    h("table", {}, h("tbody", {}, [...rows, ...signals].map(row))),
  );
}

/** What the turn cost, in one line. */
export function cost(receipt) {
  const tokens = receipt.input_tokens + receipt.output_tokens;
  const about = receipt.estimated ? "about " : "";
  return [
    receipt.model,
    receipt.model_calls ? plural(receipt.model_calls, "model call") : "no model call",
    tokens ? `${about}${plural(tokens, "token")}` : null,
    seconds(receipt.seconds),
  ].filter(Boolean);
}
