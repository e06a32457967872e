"""What agents leave behind as steps: session files of Codex and Claude Code, and ATIF."""
