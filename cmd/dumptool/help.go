package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// printHelp prints the help of cmd with the exit status at its end.
func printHelp(cmd *cobra.Command, _ []string) {
	about, status, _ := strings.Cut(cmd.Long, exitStatusTitle)
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s%s%s", strings.TrimSpace(about), cmd.UsageString(), exitStatusTitle, status)
}
