package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// completeValues lets the shell complete a flag with one of values.
func completeValues(f *pflag.Flag, values []string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[valuesKey] = values
}

// completing tells cobra the values of all flags where the shell asks for words: it keeps
// what it is told, and with it the commands, for as long as the process lives.
func completing(cmd *cobra.Command) {
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		complete, ok := completeRounds[strings.TrimPrefix(strings.TrimPrefix(f.Name, "ref-"), "npu-")]
		if values, known := f.Annotations[valuesKey]; known {
			complete, ok = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp), true
		}
		if !ok {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err)
		}
	})
	for _, sub := range cmd.Commands() {
		completing(sub)
	}
}

// completeRounds completes the flags that choose rounds with what the paths on the command
// line have.
var completeRounds = map[string]cobra.CompletionFunc{
	"rank": roundsOfPaths(func(at dumpdir.Coordinates) string { return at.Rank }),
	"step": roundsOfPaths(func(at dumpdir.Coordinates) string { return at.Step }),
}

const (
	// completionTime is how long the shell waits for the values of a run.
	completionTime = 2 * time.Second
	// mostCompletions is how many values of a run the shell is told.
	mostCompletions = 1000
)

// roundsOfPaths completes a coordinate of rounds: the last of a list of them. What takes too
// long to list has none.
func roundsOfPaths(of func(dumpdir.Coordinates) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		folders := slices.DeleteFunc(slices.Concat(args, pathsOf(cmd.Flags())), func(path string) bool {
			if store.Remote(path) {
				return true
			}
			info, err := store.Stat(path)
			return err != nil || !info.IsDir()
		})
		if len(folders) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		var values []cobra.Completion
		err := guard.Do(func() error {
			run, err := dumpdir.Open(ctx, folders, dumpdir.Options{NoRaw: true})
			if err != nil {
				return err
			}
			before := word[:strings.LastIndexAny(word, "|:")+1]
			for _, r := range run.Rounds {
				if value := of(r.At); value != "" {
					values = append(values, before+value)
				}
			}
			return nil
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		slices.SortFunc(values, lang.CompareNatural)
		values = slices.Compact(values)
		return values[:min(len(values), mostCompletions)], cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// pathsOf are the paths of runs that flags name.
func pathsOf(flags *pflag.FlagSet) (paths []string) {
	for _, name := range []string{"dump-path", "cpu", "npu"} {
		f := flags.Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			paths = append(paths, list.GetSlice()...)
		} else {
			paths = append(paths, f.Value.String())
		}
	}
	return paths
}
