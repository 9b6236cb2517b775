-- With limits on a client that is gone without a word, as limits_of_server_end in storage/postgres/dsn.hpp has them.
select set_config('application_name', $1::text, false), set_config('tcp_keepalives_idle', '5s', false),
  set_config('tcp_keepalives_interval', '3s', false), set_config('tcp_keepalives_count', '3', false),
  set_config('tcp_user_timeout', '10s', false)
