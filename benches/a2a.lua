-- For wrk: a blocking SendMessage of A2A 1.0, answered with a task that is completed. Counts what is answered otherwise.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["A2A-Version"] = "1.0"
wrk.body = '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":'
  .. '{"messageId":"tck-complete-task-1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}'

local threads = {}
wrong = 0

function setup(thread) table.insert(threads, thread) end

function response(status, headers, body)
  if status ~= 200 or not body:find('"TASK_STATE_COMPLETED"', 1, true) then wrong = wrong + 1 end
end

function done(summary, latency, requests)
  local all = 0
  for _, thread in ipairs(threads) do all = all + thread:get("wrong") end
  io.write(string.format("requests %d wrong %d p99_us %d\n", summary.requests, all, latency:percentile(99)))
end
