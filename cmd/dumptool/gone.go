package main

import (
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/lang"
)

// noPlan is the advice for removed commands and flags about plans.
const noPlan = "shards need no plan: each of them gets the whole command line and --shard"

// noDims is the advice for removed flags about files that described the parts of tensors on ranks.
const noDims = "compare finds by value how tensors are divided over ranks: see ranks.maps in compare.json; --parallel names the axes of the ranks"

// noLimitsFile is the advice for files of limits, which --profile took.
const noLimitsFile = "files of limits are gone: their keys are flags, such as --atol, and settings in the file of --config"

// noFormat is the advice for removed formats of reports.
const noFormat = "--format sarif has the places in the source, --format json has every row"

// removed maps removed commands, flags and values to their replacements. The key of a flag that only some
// commands had begins with the common words of these commands.
var removed = map[string]string{
	"compare plan":              noPlan,
	"compare parts":             "'dumptool merge DIR --missing' prints which shards are missing",
	"cluster wait":              "shards do not wait; 'dumptool merge DIR --wait 6h' waits for them",
	"config convert":            "'dumptool config new PROFILE' writes a configuration for another runtime, 'dumptool config explain FILE' says what a file dumps",
	"overflow analyze --compat": "--format text,json writes the records to the folder of -out",
	"hpaa import --learn":       "--pieces FILE or --piece-pattern PATTERN says what is in the pieces",
	"cluster --patch":           "'kubectl patch' or kustomize changes the manifest that is printed",
	"compare --report":          "its keys are flags: --rows all|bad, --topn N, --pictures N, --extra-columns, --bom",
	"--format jsonl":            noFormat,
	"--format github":           noFormat,
	"--dims":                    noDims,
	"--write-dims":              noDims,
	"--plan":                    noPlan,
	"--plan-ignore":             noPlan,
	"--shard-by":                "work is divided by the bytes to read",
	"--s3-retries":              "--s3-retry-time 5m says for how long a request is tried again",
	"--shards":                  "--shard I/N already gives the number of shards",
}

// removedError returns the error for a removed command below cmd, or flag of cmd; nil for other names.
func removedError(cmd *cobra.Command, name string) error { return findRemoved(commandPath(cmd), name) }

// findRemoved is removedError for the words of a command.
func findRemoved(words []string, name string) error {
	for n := len(words); n >= 0; n-- {
		key := strings.Join(append(words[:n:n], name), " ")
		if instead := removed[key]; instead != "" {
			if !strings.HasPrefix(name, "-") {
				name = "'dumptool " + key + "'"
			}
			return &codedError{exitUsage, lang.Errorf("%s is gone: %v", name, lang.Say(instead))}
		}
	}
	return nil
}

// removedSetting returns the error for a setting that was a removed flag, at source; nil for others.
// path has the words of the command and the name of the flag.
func removedSetting(source string, path []string) error {
	last := len(path) - 1
	for _, name := range []string{"--" + path[last], path[last]} {
		if err := findRemoved(path[:last], name); err != nil {
			return &codedError{exitUsage, lang.Errorf("%s: %w", source, err)}
		}
	}
	return nil
}
