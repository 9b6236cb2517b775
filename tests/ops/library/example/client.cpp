#include <cairn/client.hpp>
#include <fstream>
#include <iostream>

// letters_client GRAPH_FILE TEXT...: the number of letters in each text, as runs of the graph count them.
int main(int argc, char** argv) {
  try {
    cairn::Client client;
    std::ifstream file(argv[1]);
    client.add_graph(cairn::Json::parse(file));
    for (int i = 2; i < argc; ++i) {
      const std::string run = client.start("letters", {{"text", argv[i]}});
      const cairn::Json state = client.wait(run, std::chrono::seconds(60));
      std::cout << argv[i] << " " << state.value("output", cairn::Json()) << " " << client.verify(run)["sound"] << "\n";
    }
  } catch (const cairn::Problem& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
}
