package config

import "strings"

// EnvName returns the environment variable of a flag, such as
// DUMPTOOL_OVERFLOW_ANALYZE_CPU_DIR.
func EnvName(command []string, flag string) string {
	words := append([]string{"dumptool"}, command...)
	name := strings.Join(append(words, flag), "_")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
