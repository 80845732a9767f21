package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

type comparePartsOptions struct {
	missing bool
	plan    string
}

func newComparePartsCommand(a *app) *cobra.Command {
	opts := new(comparePartsOptions)
	cmd := &cobra.Command{
		Use:   "parts PARTS...",
		Short: "list the parts of a comparison, and which are missing",
		Long: `parts lists the part files of shards, with the state of each, and the shards that
are missing. --missing prints their numbers alone, as schedulers take them: 3,17,40-42
for sbatch --array=$(dumptool compare parts PARTS --missing).`,
		Example: `  dumptool compare parts parts
  dumptool compare parts parts --missing`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return runCompareParts(a, opts, args) },
	}
	cmd.Long += exitStatus()
	flags := cmd.Flags()
	flags.BoolVar(&opts.missing, "missing", false, "print the numbers of the shards that are missing, nothing where none is")
	harmless(flags, "missing")
	flags.StringVar(&opts.plan, "plan", "", "the `FILE` of 'compare plan'; default: plan.jsonl in the first folder of parts")
	return cmd
}

// runCompareParts lists parts.
func runCompareParts(a *app, opts *comparePartsOptions, args []string) error {
	if len(args) == 0 {
		return usagef("no parts given")
	}
	listing, err := listParts(opts.plan, args)
	if err != nil {
		return incompletef("%w", err)
	}
	if listing.Head.Of == 0 { // how many there should be is not known
		return incompletef("%w", listing.Err())
	}
	if opts.missing {
		if len(listing.Missing) > 0 {
			fmt.Fprintln(a.out, shard.Ranges(listing.Missing))
		}
		return nil
	}
	return a.text().WriteParts(a.out, listing)
}

// listParts lists the parts of a plan, or of the work that most parts belong to where
// there is no plan.
func listParts(plan string, paths []string) (*shard.Listing, error) {
	if plan == "" {
		plan = store.Join(paths[0], compare.PlanName)
	}
	file, err := compare.OpenPlan(plan)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return compare.Parts(paths, nil)
	case err != nil:
		return nil, err
	}
	defer file.Close()
	return compare.Parts(paths, file)
}
