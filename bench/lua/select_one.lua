-- SELECT 1 as text: the cost of a round trip and of the shortest statement.
function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
  connection:query("SELECT 1")
end

function thread_done()
  connection:disconnect()
end
