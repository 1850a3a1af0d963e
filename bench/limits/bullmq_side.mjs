// BullMQ's side: one queue for the key, with global concurrency, as its documentation advises where
// the groups of BullMQ Pro are not licensed. Adds the jobs, works them off, and ends.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Queue, Worker } from "bullmq";

const { PEERS_REDIS, PEERS_RUNS, PEERS_SLOTS, PEERS_WORKERS, PEERS_JOBS, PEERS_SECONDS } =
  process.env;
const jobs = Number(PEERS_JOBS);
const { hostname: host, port } = new URL(PEERS_REDIS);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const note = (event, name) =>
  appendFileSync(PEERS_RUNS, `${event} ${name} ${(Date.now() / 1000).toFixed(6)}\n`);

const queue = new Queue("acme", { connection });
await queue.setGlobalConcurrency(Number(PEERS_SLOTS));
for (let number = 0; number < jobs; number += 1) {
  await queue.add("work", { name: `job-${number}` });
}
let ended = 0;
const worker = new Worker(
  "acme",
  async (job) => {
    note("begun", job.data.name);
    await sleep(Number(PEERS_SECONDS) * 1000);
    note("ended", job.data.name);
  },
  { connection, concurrency: Number(PEERS_WORKERS) },
);
worker.on("completed", async () => {
  ended += 1;
  if (ended === jobs) {
    await worker.close();
    await queue.close();
    process.exit(0);
  }
});
