package main

import (
	"context"
	"errors"
	"fmt"

	"dumptool/internal/convert"
	"dumptool/internal/store"
)

// extract takes operators out of an HDF5 file.
func (o *convertOptions) extract(ctx context.Context, a *app, paths []string) error {
	x := convert.Extraction{Out: o.Out, Ops: o.Ops}
	switch {
	case len(paths) != 1:
		return usagef("-t %s is for one HDF5 file, there are %d paths", o.Type, len(paths))
	case o.Target != nil || o.SkipExisting || bool(o.json) || o.find != "":
		return usagef("-t %s copies what is stored in one file: not with -f, --skip-existing, --json or --find", o.Type)
	}
	x.In = paths[0]
	var err error
	if o.Type == convert.H5Copy {
		if x.Out == "." {
			x.Out = "output.h5"
		}
		err = a.printCommands(&x)
	} else {
		err = a.writeExtract(ctx, &x)
	}
	if errors.Is(err, convert.ErrNotHDF5) {
		return usagef("-t %s is for HDF5 files: %s is none", o.Type, x.In)
	}
	return err
}

// writeExtract writes the operators to a new file.
func (a *app) writeExtract(ctx context.Context, x *convert.Extraction) error {
	if x.Out == "." {
		return usagef("-t %s needs the name of the new file: -out FILE", convert.H5)
	}
	if _, err := store.Lstat(x.Out); err == nil {
		return usagef("-out %s exists already: -t %s wants the name of a new file", x.Out, convert.H5)
	}
	done, err := x.Write(ctx)
	if err != nil {
		return err
	}
	return a.conclude(x.Outcome(done))
}

// printCommands prints the commands that write the operators to a new file.
func (a *app) printCommands(x *convert.Extraction) error {
	commands, left, err := x.Commands()
	if err != nil {
		return err
	}
	for _, c := range commands {
		if _, err := fmt.Fprintln(a.out, c); err != nil {
			return unlessClosed(err)
		}
	}
	return a.conclude(x.CommandOutcome(commands, left))
}
