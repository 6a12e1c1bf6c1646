// graphile-worker: node graphile-worker.js default|batched DATABASE RECEIVER ROWS BYTES

import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { begin, CONCURRENCY, groups, payload, poster } from './http.js'

const [mode, connectionString, receiver, rows, bytes] = process.argv.slice(2)
const logger = new Logger(() => () => {})

const utils = await makeWorkerUtils({ connectionString, logger })
await utils.migrate()
for (const numbers of groups(Number(rows), 5000)) {
  await utils.addJobs(numbers.map(n => ({ identifier: 'post', payload: payload(n, Number(bytes)) })))
}
await utils.release()

const batched = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
const post = poster(receiver)
let runner
await begin(() => runner?.stop())
runner = await run({
  preset: {
    worker: {
      connectionString,
      concurrentJobs: CONCURRENCY,
      ...(mode === 'batched' ? batched : {})
    }
  },
  logger,
  noHandleSignals: true,
  taskList: { post: (payload, helpers) => post(`graphile-${helpers.job.id}`, payload) }
})
