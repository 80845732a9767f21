package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/lang"
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
	"--s3-retries":  "--s3-retry-time 5m says for how long a request is tried again",
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

// flagError says what is wrong with a flag in our words: what its value should be, the
// flag that is meant, or what to use in place of one that is gone.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if ours := invalidValue(invalid.GetFlag(), invalid.GetValue(), err); ours != nil {
			return ours
		}
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	name := string(normalizeFlag(nil, cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName())))
	if hint := gone["--"+name]; hint != "" {
		return hintf(asUsage(err), "%s", hint)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near := lang.Nearest(name, known); near != "" {
		return hintf(asUsage(err), "did you mean --%s?", near)
	}
	return err
}
