// One POST per job, as the relay does: at most 64 under way, each with a key of its own and the job's payload as its body.

import { Pool } from 'undici'

export const CONCURRENCY = 64

export function poster (url) {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections: CONCURRENCY, pipelining: 1 })
  return async (key, payload) => {
    const { statusCode, body } = await pool.request({
      path: pathname,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(payload)
    })
    await body.dump()
    if (statusCode !== 200) throw new Error(`the receiver answered ${statusCode}`)
  }
}

// Payload number `n`: a JSON object of about `bytes` bytes.
export function payload (n, bytes) {
  return { id: n, email: 'ada@example.com', amount: 10.1, note: 'x'.repeat(Math.max(0, bytes - 64)) }
}

// The numbers from 1 to `rows`, in groups.
export function * groups (rows, size) {
  for (let from = 1; from <= rows; from += size) {
    yield Array.from({ length: Math.min(size, rows - from + 1) }, (_, i) => from + i)
  }
}

// Says that everything is ready, and resolves once the benchmark says `begin`. The process ends with its standard input.
export async function begin (stop) {
  console.log('ready')
  await new Promise(resolve => process.stdin.once('data', resolve))
  process.stdin.on('end', async () => {
    await stop()
    process.exit(0)
  })
  process.stdin.resume()
}
