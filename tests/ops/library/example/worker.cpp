#include <cairn/worker.hpp>

int main(int argc, char** argv) {
  cairn::Handlers handlers;
  handlers.add("letters.count", [](const cairn::Step& step) {
    const auto text = step.input.at("text").get<std::string>();
    if (text.empty()) throw cairn::Final("Expected a text, but it is empty.", "empty");
    return cairn::Json{{"letters", text.size()}};
  });
  return cairn::work(handlers, argc, argv);
}
