#include "ops/command_line.hpp"

int main(int argc, char** argv) { return cairn::run_command_line(argc, argv); }
