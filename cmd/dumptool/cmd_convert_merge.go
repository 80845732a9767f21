package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"dumptool/internal/convert"
	"dumptool/internal/shard"
)

func newConvertMergeCommand(a *app) *cobra.Command {
	var parts partsFlags
	cmd := &cobra.Command{
		Use:   "merge DIR",
		Short: "list what failed in all shards of 'convert --shard'",
		Long: `merge ends a conversion by shards in the folder DIR: from the parts that they left
there it writes the list of what failed and the mapping.csv of shortened names, as one
run does, and removes the parts. Shards that are missing are listed, and nothing is
written then: run them again.` + exitStatus(exitNothing, exitInterrupted),
		Example: `  dumptool convert -d dumps -out npy -f NCHW --shard 0/2
  dumptool convert -d dumps -out npy -f NCHW --shard 1/2
  dumptool convert merge npy`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the one folder that the shards wrote to")
			}
			found, err := parts.list(cmd.Context(), a, args, shard.Head{Kind: convert.PartKind})
			if err != nil {
				return err
			}
			sum, in, err := convert.Merge(found, args[0])
			return cmp.Or(err, a.conclude(sum.Outcome(in, args[0])))
		},
	}
	parts.add(cmd.Flags())
	return cmd
}
