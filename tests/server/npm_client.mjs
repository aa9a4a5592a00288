// Holds a conversation through npm's `openai` client, and prints what it saw as JSON.
// NODE_PATH names the folder of modules, since a module's own imports do not follow it.
import { createRequire } from "node:module";

const OpenAI = createRequire(process.env.NODE_PATH + "/x.js")("openai").default;
const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "any", maxRetries: 0 });
const question = "Which rock is hard?";
const messages = [{ role: "user", content: question }];
const refused = async (call) => {
  try {
    await call();
  } catch (error) {
    return [error.constructor.name, error.status, error.message];
  }
};

const models = [];
for await (const model of client.models.list()) models.push(model.id);
const chat = await client.chat.completions.create({ model: "preflight", messages });
const stream = client.chat.completions.stream({ model: "preflight", messages });
const streamed = await stream.finalChatCompletion();
const format = { type: "json_schema", json_schema: { name: "found", strict: true, schema: { type: "object", properties: { answer: { type: "string" } }, required: ["answer"], additionalProperties: false } } };
const parsed = await client.chat.completions.parse({ model: "preflight", messages, response_format: format });
const first = await client.responses.create({ model: "preflight", input: question });
const second = await client.responses.create({ model: "preflight", input: "And which rock is light?", previous_response_id: first.id });
const events = [];
for await (const event of await client.responses.create({ model: "preflight", input: question, stream: true })) events.push(event.type);
const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
const required = await refused(() => client.chat.completions.create({ model: "preflight", messages, tools: [tool], tool_choice: "required" }));
const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
const noted = await client.chat.completions.create({ model: "preflight", messages: [{ role: "user", content: [image, { type: "text", text: question }] }] });
const embedded = await client.embeddings.create({ model: "preflight", input: question });

console.log(JSON.stringify({
  models,
  chat: [chat.choices[0].finish_reason, chat.choices[0].message.content, chat.choices[0].message.annotations?.[0].type],
  streamed: [streamed.choices[0].finish_reason, streamed.choices[0].message.content],
  parsed: parsed.choices[0].message.parsed ?? JSON.parse(parsed.choices[0].message.content),
  responses: [first.output_text, second.preflight.turn, first.output[0].content[0].annotations.map((note) => note.type)],
  events,
  required,
  noted: noted.choices[0].message.content,
  embedded: embedded.data[0].embedding.length,
}));
