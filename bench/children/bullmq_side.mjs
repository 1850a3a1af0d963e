// BullMQ's side: a flow for each fan-out, whose parent is the callback. `submit` adds the flows that
// the lines of standard input name, and answers as bench/peers/submitting.py does; `work` works.
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

// It is installed beside the benchmarks of limits.
const require = createRequire(new URL("../limits/package.json", import.meta.url));
const { FlowProducer, Worker } = require("bullmq");

const { PEERS_REDIS, PEERS_RUNS, PEERS_VISIBILITY_SECONDS, PEERS_CHILDREN } = process.env;
const { hostname: host, port } = new URL(PEERS_REDIS);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const CHILDREN = "peers-children";
const CALLBACKS = "peers-callbacks";

const note = (event, name) =>
  appendFileSync(PEERS_RUNS, `${event} ${name} ${(Date.now() / 1000).toFixed(6)}\n`);

async function submit() {
  const producer = new FlowProducer({ connection });
  for await (const line of createInterface({ input: process.stdin })) {
    const due = {};
    for (const { name, seconds } of JSON.parse(line).jobs) {
      await producer.add({
        name: "callback",
        queueName: CALLBACKS,
        data: { name: `${name}.callback`, seconds: 0 },
        children: Array.from({ length: Number(PEERS_CHILDREN) }, (_, number) => ({
          name: "child",
          queueName: CHILDREN,
          data: { name: `${name}.${number}`, seconds },
        })),
      });
      due[name] = Date.now() / 1000;
    }
    process.stdout.write(
      `${JSON.stringify({ cpu_seconds: 0, wall_seconds: 0, due, refused: {} })}\n`,
    );
  }
}

function work() {
  const lock = Number(PEERS_VISIBILITY_SECONDS) * 1000;
  for (const queue of [CHILDREN, CALLBACKS]) {
    new Worker(
      queue,
      async (job) => {
        note("begun", job.data.name);
        await sleep(job.data.seconds * 1000);
        note("ended", job.data.name);
      },
      { connection, concurrency: 2, lockDuration: lock, stalledInterval: lock },
    );
  }
}

await { submit, work }[process.argv[2]]();
