// Questions on a database of real size, by the rule book and with a scripted model: 200 tables of four schemas, names
// that repeat, keys of two columns, views, no comments, and tables of a million rows.
#include <fstream>
#include <iterator>

#include "storage/postgres/administration.hpp"
#include "tests/paths.hpp"
#include "tests/workers/planners/round_planner/round_planner_trial.hpp"
#include "workers/tools/data/metadata.hpp"

namespace cairn::test::rounds {
namespace {

// 196 tables alike, and the seven and a view that the questions are about. Keys are declared after the rows are there,
// unchecked.
constexpr const char* tables = R"sql(
create schema sales; create schema finance; create schema people; create schema logistics;
do $$
declare s text; n text; k int; t text;
begin
  foreach s in array array['sales', 'finance', 'people', 'logistics'] loop
    foreach n in array string_to_array('account agreement alert approval asset audit batch benefit budget calendar
        campaign carrier catalog claim coupon course currency delivery device discount dock driver expense facility
        feedback
        forecast grade holiday incident inspection interview job journal label leave license location machine manifest
        meeting notice offer policy quota receipt refund ticket voucher warranty', ' ') loop
      continue when n = '';
      n := trim(both E' \n' from n);
      t := format('create table %I.%I (%I bigint primary key, company_id int, name text, status text, region text,
                  amount numeric(12, 2), quantity int, created_at timestamptz, updated_at timestamptz, note text',
                  s, n, n || '_id');
      for k in 1..20 loop t := t || format(', attr_%s text', k); end loop;
      execute t || ')';
      execute format('insert into %I.%I select g, g %% 3, ''N'' || g, ''open'', ''North'', g, g
                      from generate_series(1, 50) g',
                     s, n);
    end loop;
  end loop;
end $$;
create table sales.customer (company_id int, customer_no int, customer_name text, city text, since date,
                             primary key (company_id, customer_no));
create table sales.order_header (company_id int, order_no int, customer_no int, order_date date, order_status text,
                                 total numeric(12, 2), sales_channel text);
create table sales.product (product_code text primary key, product_name text, category text, list_price numeric(10, 2));
create table sales.order_line (company_id int, order_no int, line_no int, product_code text, units int,
                               net_amount numeric(12, 2));
create table finance.invoice (invoice_no int primary key, company_id int, order_no int, issued_on date,
                              amount_due numeric(12, 2), paid_on date);
create table people.department (department_code text primary key, department_name text);
create table people.employee (employee_no int primary key, last_name text, salary numeric(10, 2), department_code text);
insert into sales.product select 'P' || g, 'Chair ' || g, (array['Seating', 'Tables', 'Lighting'])[1 + g % 3], g
  from generate_series(1, 3000) g;
insert into sales.customer select g % 3, g, 'Customer ' || g, (array['Berlin', 'Lyon', 'Oslo'])[1 + g % 3], '2020-01-01'
  from generate_series(1, 30000) g;
insert into sales.order_header
  select (1 + g % 30000) % 3, g, 1 + g % 30000, date '2023-01-01' + g % 1000,
         (array['open', 'closed'])[1 + g % 2], g % 500, 'web' from generate_series(1, 1000000) g;
insert into sales.order_line select company_id, order_no, 1, 'P' || (1 + order_no % 3000), 1 + order_no % 7,
         order_no % 3000 from sales.order_header;
insert into finance.invoice select order_no, company_id, order_no, order_date, total, null from sales.order_header
  where order_no <= 40000;
insert into people.department values ('D1', 'Research'), ('D2', 'Production');
insert into people.employee select g, 'Name ' || g, 30000 + g, 'D' || (1 + g % 2) from generate_series(1, 1000) g;
alter table sales.order_header add primary key (company_id, order_no);
alter table sales.order_header add foreign key (company_id, customer_no) references sales.customer not valid;
alter table sales.order_line add foreign key (company_id, order_no) references sales.order_header not valid;
alter table sales.order_line add foreign key (product_code) references sales.product not valid;
alter table finance.invoice add foreign key (company_id, order_no) references sales.order_header not valid;
alter table people.employee add foreign key (department_code) references people.department not valid;
create view sales.open_orders as select * from sales.order_header where order_status = 'open';
create role reader login;
grant usage on schema sales, finance, people, logistics to reader;
grant select on all tables in schema sales, finance, people, logistics to reader;
analyze;
)sql";

const Dataset& large() {
  static const Dataset dataset = [] {
    Dataset made;
    made.dsn = test::new_database(1);
    Administration(*made.dsn, "test", no_limit).execute(tables);
    made.login = "reader";
    made.schema = "sales,finance,people,logistics";
    return made;
  }();
  return dataset;
}

std::string computed(const std::string& sql) { return test::ask_text(*large().dsn, sql); }

// The number of relations of these kinds: r, a table; v, a view.
std::string count_of(const std::string& kinds) {
  return computed(
      "select count(*)::text from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in (" +
      kinds + ") and n.nspname in ('sales', 'finance', 'people', 'logistics')");
}

Json ask_large(const std::string& question) {
  PlannerRun planner(rules(), make_tools(nine_tools(large()), 4));
  return ask_rules(planner, question);
}

TEST(RoundPlannerScale, issue_20_R1_questions_on_two_hundred_tables_are_answered_by_the_rules) {
  const std::string count = count_of("'r'");
  ASSERT_GE(std::stoi(count), 200);
  std::ifstream file(testing::source_dir() + std::string("/workers/planners/round_planner/README.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(has(page, "On " + count + " tables, most of them of 30 columns"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"How many orders are there?", "select ': ' || count(*) || '.' from sales.order_header"},
      {"How many customers are in Oslo?", "select ': ' || count(*) || '.' from sales.customer where city = 'Oslo'"},
      {"How many open orders are there from Berlin?",
       "select ': ' || count(*) || '.' from sales.open_orders o join sales.customer c using (company_id, customer_no) "
       "where city = 'Berlin'"},
      {"What is the total net amount of order lines per product category?",
       "select sum(net_amount)::bigint::text from sales.order_line join sales.product using (product_code) where "
       "category = 'Seating'"},
      {"Which five products have the highest total net amount?",
       "select sum(net_amount)::bigint::text from sales.order_line group by product_code order by sum(net_amount) desc "
       "limit 1"},
      {"What is the average salary per department?",
       "select round(avg(salary), 2)::float8::text from people.employee where department_code = 'D1'"},
      {"How many invoices were issued in the second quarter of 2023?",
       "select ': ' || count(*) || '.' from finance.invoice where issued_on >= '2023-04-01' and issued_on < "
       "'2023-07-01'"},
      {"How many people accounts are there?", "select ': ' || count(*) || '.' from people.account"}};
  for (const auto& [question, expected] : cases) {
    const Json output = ask_large(question);
    EXPECT_EQ(output["outcome"], "answered") << question << output;
    EXPECT_TRUE(has(output["answer"], computed(expected))) << question << "\n"
                                                           << output["answer"] << "\n"
                                                           << computed(expected);
    EXPECT_LE(output["rounds"], 4) << question;
  }
}

TEST(RoundPlannerScale, issue_20_R4_names_that_may_be_several_things_alike_are_asked_back) {
  const std::string accounts = ask_large("How many accounts are there?")["answer"];
  EXPECT_TRUE(has(accounts, "\"accounts\" may be account, finance.account, people.account, logistics.account"))
      << accounts;
  const Json amount = ask_large("What is the total amount?");
  EXPECT_EQ(amount["outcome"], "clarification") << amount;
  EXPECT_TRUE(has(amount["answer"], "or one of others. Which of them do you mean?")) << amount["answer"];
  const Json unknown = ask_large("How many orders were sold by ACME?");
  EXPECT_EQ(unknown["outcome"], "clarification") << unknown;
  EXPECT_TRUE(has(unknown["answer"], "ACME")) << unknown["answer"];
}

TEST(RoundPlannerScale, issue_20_2_the_list_of_tables_goes_on_where_it_ended) {
  const std::vector<ToolSpec> tools = nine_tools(large());
  const auto listed = [&](int from) {
    ToolCall call;
    call.tool = "list_tables";
    call.inputs = {{"from", from}};
    for (const ToolSpec& tool : tools)
      if (tool.name == call.tool) return std::get<NativeTool>(tool.does)(call)->at("tables");
    return Json();
  };
  std::set<std::string> names;
  int pages = 0;
  for (Json page = listed(0); pages < 10; page = listed(static_cast<int>(names.size()))) {
    ++pages;
    for (const Json& table : page["tables"]) names.insert(table["table"].get<std::string>());
    if (page["more"] == false) break;
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(std::to_string(names.size()), count_of("'r', 'v'"));
}

TEST(RoundPlannerScale, issue_20_2_a_model_sees_whole_tables_and_a_failed_query_comes_back_with_the_servers_message) {
  const auto query = [](const std::string& id, const std::string& gen, const std::string& sql) {
    return std::vector<Json>{
        goal(gen, "es_query_gen", {{"metadata_results", from("sb1", "metadata_results")}, {"draft", sql}}),
        goal(id, "es_query_exec", {{"es_query", from(gen, "es_query")}})};
  };
  std::vector<Json> again = query(
      "sb5", "sb4", "select city, count(*) from order_header join customer using (company_id, customer_no) group by 1");
  again[1]["retry_of"] = "sb3";
  const std::vector<Json> replies = {
      says("understand_goal", {{"kind", "count"}, {"references", {"orders", "city"}}, {"reason", "Clear."}}),
      goes_on({goal("sb1", "metadata_lookup", {{"question", "How many orders from each city?"}})}),
      goes_on(
          query("sb3", "sb2", "select town, count(*) from order_header join customer using (customer_no) group by 1")),
      goes_on(again),
      is_done({{"rows", from("sb5", "es_results")}}),
      answers("Each city has 333 thousand orders.")};
  PlannerRun planner(script(replies), make_tools(nine_tools(large()), 4));
  const RunId run = planner.run("round_planner", {{"question", "How many orders from each city?"}});
  EXPECT_EQ(planner.output(run)["outcome"], "answered") << planner.output(run);
  const auto prompt = [&](std::size_t n) {
    return planner.model().of("plan_round").at(n).messages.back()["content"].get<std::string>();
  };
  const Json shown = Json::parse(prompt(1))["completed_outputs"]["sb1"]["metadata_results"];
  ASSERT_TRUE(shown.is_object()) << "a cut string is no object";
  EXPECT_LE(canonical(shown).size(), metadata_bytes_max);
  EXPECT_GT(shown["left_out"], 100);
  EXPECT_TRUE(has(prompt(0), "a query in PostgreSQL's SQL")) << "the dialect is named";
  EXPECT_TRUE(has(prompt(2), "column \\\"town\\\" does not exist")) << prompt(2);
}

}  // namespace
}  // namespace cairn::test::rounds
