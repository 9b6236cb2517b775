# One program per folder of tests/, labelled `fast` (needs nothing) or `postgres` (starts its own cluster), linked to no
# more than it tests.
find_package(GTest REQUIRED)
set_source_files_properties(tests/paths.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_DEFINITIONS
                            "CAIRN_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\";CAIRN_PROGRAMS=\"${CMAKE_BINARY_DIR}\"")

set(cairn_test_seconds 1200)
if(CAIRN_SANITIZE OR CAIRN_TSAN)
  set(cairn_test_seconds 7200)
endif()

function(cairn_tests folder label library)
  add_executable(test_${folder} ${ARGN} tests/paths.cpp)
  target_link_libraries(test_${folder} PRIVATE ${library} GTest::gtest GTest::gtest_main)
  # Tests are read and run once: optimizing them fully doubles the time of their compilation for nothing.
  target_compile_options(test_${folder} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(TARGET test_engine AND NOT folder STREQUAL engine)
    target_precompile_headers(test_${folder} REUSE_FROM test_engine)
  else()
    target_precompile_headers(test_${folder} PRIVATE <gtest/gtest.h> <nlohmann/json.hpp>)
  endif()
  add_test(NAME ${folder} COMMAND test_${folder})
  set_tests_properties(${folder} PROPERTIES LABELS ${label} TIMEOUT ${cairn_test_seconds})
endfunction()

cairn_tests(engine fast cairn_simulation
  tests/engine/branches_test.cpp
  tests/engine/cache_test.cpp
  tests/engine/codec_test.cpp
  tests/engine/commands_test.cpp
  tests/engine/data_test.cpp tests/engine/decide_test.cpp
  tests/engine/fork_test.cpp
  tests/engine/golden_history_test.cpp
  tests/engine/graph_test.cpp
  tests/engine/id_test.cpp
  tests/engine/json_test.cpp
  tests/engine/maps_test.cpp
  tests/engine/random_test.cpp
  tests/engine/redecide_test.cpp
  tests/engine/snapshot_test.cpp
  tests/engine/trial.cpp
  tests/engine/waiting_test.cpp
)
cairn_tests(storage postgres cairn_storage
  tests/storage/bench_copies_test.cpp
  tests/storage/bounded_query_test.cpp
  tests/storage/chain_test.cpp
  tests/storage/checkpoint_test.cpp
  tests/storage/claim_desk_test.cpp
  tests/storage/claim_test.cpp
  tests/storage/clock_test.cpp
  tests/storage/cluster_test.cpp
  tests/storage/commit_test.cpp
  tests/storage/corpus_test.cpp
  tests/storage/cutting_proxy.cpp
  tests/storage/job_writes_test.cpp
  tests/storage/oracle_test.cpp
  tests/storage/plans_test.cpp
  tests/storage/postgres_test.cpp
  tests/storage/queue_settings_test.cpp
  tests/storage/records_test.cpp
  tests/storage/runs_test.cpp
  tests/storage/schema_test.cpp
  tests/storage/sessions_test.cpp
  tests/storage/signing_test.cpp
  tests/storage/store_test.cpp
  tests/storage/test_database.cpp
  tests/storage/test_runs.cpp
  tests/storage/wake_test.cpp
  tests/waiting.cpp
)
cairn_tests(workers postgres cairn_workers
  tests/storage/test_database.cpp
  tests/storage/test_runs.cpp
  tests/workers/builtin_handlers_test.cpp
  tests/workers/checkpointer_test.cpp
  tests/workers/commands_in_flight_test.cpp
  tests/workers/committer_test.cpp
  tests/workers/corpus_tool_test.cpp
  tests/workers/evidence_test.cpp
  tests/workers/data_question_test.cpp
  tests/workers/executor_test.cpp
  tests/workers/foreign_text_test.cpp
  tests/workers/formula_test.cpp
  tests/workers/http_client_test.cpp
  tests/workers/loopback.cpp
  tests/workers/large_values_test.cpp
  tests/workers/models_test.cpp
  tests/workers/page_agent_test.cpp
  tests/workers/page_dom_test.cpp
  tests/workers/page_tools_test.cpp
  tests/workers/plan_decomposer_test.cpp
  tests/workers/plan_outline_test.cpp
  tests/workers/pool_test.cpp
  tests/workers/queue_limit_test.cpp
  tests/workers/repository_test.cpp
  tests/workers/round_planner_test.cpp
  tests/workers/same_history_test.cpp
  tests/workers/schema_check_test.cpp
  tests/workers/session_test.cpp
  tests/workers/seven_node_test.cpp
  tests/workers/small_graphs.cpp
  tests/workers/tool_agent_test.cpp
  tests/workers/tools_test.cpp
  tests/workers/turns_test.cpp
  tests/workers/upgrade_test.cpp
  tests/workers/venture_scope_nodes_test.cpp
  tests/workers/venture_scope_test.cpp
  tests/workers/worker_test.cpp
)
target_include_directories(test_workers SYSTEM PRIVATE ${VALIJSON_INCLUDE})
cairn_tests(simulation fast cairn_simulation
  tests/simulation/simulation_test.cpp
)
cairn_tests(ops postgres cairn_ops
  tests/engine/trial.cpp
  tests/ops/api_client.cpp
  tests/ops/archive_test.cpp
  tests/ops/as_of_test.cpp
  tests/ops/auditor_questions_test.cpp
  tests/ops/audited_database.cpp
  tests/ops/bad_input_test.cpp
  tests/ops/bench_test.cpp
  tests/ops/command_line_test.cpp
  tests/ops/checkpoint_audit_test.cpp
  tests/ops/control_test.cpp
  tests/ops/corpus_test.cpp
  tests/ops/crash_points_test.cpp
  tests/ops/doctor_test.cpp
  tests/ops/explain_test.cpp
  tests/ops/export_test.cpp
  tests/ops/fork_test.cpp
  tests/ops/http_api_test.cpp
  tests/ops/http_limits_test.cpp
  tests/ops/http_load_test.cpp
  tests/ops/http_protocol_test.cpp
  tests/ops/invariants_test.cpp
  tests/ops/page_agent_test.cpp
  tests/ops/plan_decomposer_test.cpp
  tests/ops/plan_runner_test.cpp
  tests/ops/planner_runs.cpp
  tests/ops/program.cpp
  tests/ops/random_audit_test.cpp
  tests/ops/rebuild_test.cpp
  tests/ops/recorded_conversations_test.cpp
  tests/ops/round_planner_test.cpp
  tests/ops/run_audit_test.cpp
  tests/ops/seven_node_test.cpp
  tests/ops/simulate_test.cpp
  tests/ops/verify_test.cpp
  tests/waiting.cpp
  tests/workers/loopback.cpp
)
cairn_tests(fuzz fast cairn_workers
  tests/fuzz/fuzz_test.cpp
  tests/fuzz/history.cpp
  tests/fuzz/targets.cpp
)
if(CAIRN_FUZZ)
  add_executable(cairn_fuzz tests/fuzz/history.cpp tests/fuzz/libfuzzer.cpp tests/fuzz/targets.cpp)
  target_link_libraries(cairn_fuzz PRIVATE cairn_workers)
  target_link_options(cairn_fuzz PRIVATE -fsanitize=fuzzer)
endif()
cairn_tests(faults postgres cairn_storage
  tests/faults/faults_test.cpp
  tests/faults/load.cpp
  tests/ops/program.cpp
  tests/storage/cutting_proxy.cpp
  tests/storage/test_database.cpp
  tests/waiting.cpp
)
add_dependencies(test_faults cairn)
add_executable(crash_worker tests/ops/crash_worker.cpp)
target_link_libraries(crash_worker PRIVATE cairn_ops)
add_dependencies(test_ops cairn crash_worker)

# The tidy tests read the sources; they need nothing of the program.
add_executable(test_tidy tests/paths.cpp tests/tidy/semantics_test.cpp tests/tidy/tidy_test.cpp)
target_link_libraries(test_tidy PRIVATE cairn_flags GTest::gtest GTest::gtest_main)
add_test(NAME tidy COMMAND test_tidy)
set_tests_properties(tidy PROPERTIES LABELS fast)
