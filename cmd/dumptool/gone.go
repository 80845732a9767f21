package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noPlan is what takes the place of plans.
const noPlan = "shards need no plan: give each of them the whole command line and --shard"

// gone are commands and flags of older versions, with what to use instead.
var gone = map[string]string{
	"compare plan":  noPlan,
	"compare parts": "'dumptool merge DIR --missing' prints which shards are missing",
	"cluster wait":  "'dumptool merge DIR --wait 6h' waits for the shards, which wait for nothing",
	"--plan":        noPlan,
	"--plan-ignore": noPlan,
	"--shard-by":    "the bytes to read are shared out",
	"--shards":      "--shard I/N says how many there are",
}

// goneCommand is the error for a word that was a command below another one, nil for other
// words.
func goneCommand(cmd *cobra.Command, word string) error {
	name := strings.Join(append(commandPath(cmd), word), " ")
	if hint := gone[name]; hint != "" {
		return hintf(usagef("'dumptool %s' is gone", name), "%s", hint)
	}
	return nil
}

// flagError adds to the error of a flag that is gone what to use instead.
func flagError(_ *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if hint := gone["--"+string(normalizeFlag(nil, unknown.GetSpecifiedName()))]; hint != "" {
			return hintf(asUsage(err), "%s", hint)
		}
	}
	return err
}
