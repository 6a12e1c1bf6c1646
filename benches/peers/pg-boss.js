// pg-boss, in batches of 500: node pg-boss.js DATABASE RECEIVER ROWS BYTES
//
// `work` would wait half a second between two batches, so batches are fetched and completed by hand, two at a time:
// while one is completed, the other is sent.

import { PgBoss } from 'pg-boss'
import { begin, CONCURRENCY, groups, payload, poster } from './http.js'

const [connectionString, receiver, rows, bytes] = process.argv.slice(2)
const QUEUE = 'post'

const boss = new PgBoss({ connectionString, supervise: false, schedule: false })
boss.on('error', error => { throw error })
await boss.start()
await boss.createQueue(QUEUE)
for (const numbers of groups(Number(rows), 5000)) {
  await boss.insert(QUEUE, numbers.map(n => ({ data: payload(n, Number(bytes)) })))
}

const post = poster(receiver)
await begin(() => boss.stop({ graceful: false }))
await Promise.all([drain(), drain()])

async function drain () {
  for (;;) {
    const jobs = await boss.fetch(QUEUE, { batchSize: 500 })
    if (jobs.length === 0) return
    const waiting = jobs.values()
    await Promise.all(Array.from({ length: CONCURRENCY }, () => send(waiting)))
    await boss.complete(QUEUE, jobs.map(job => job.id))
  }
}

async function send (jobs) {
  for (const job of jobs) await post(job.id, job.data)
}
