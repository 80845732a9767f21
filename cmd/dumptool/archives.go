package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/bundle"
	"dumptool/internal/convert"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// unpackMaxFlag bounds what is unpacked of an archive.
func unpackMaxFlag(to *int64) cmdFlag {
	*to = 1 << 40
	return cmdFlag{"unpack-max", (*sizeFlag)(to), "unpack at most so many bytes of an archive to $TMPDIR", "归档最多向 $TMPDIR 解压这么多字节", global, rare}
}

// useArchives says how archives of runs are read.
func (a *app) useArchives(ctx context.Context) {
	store.UseArchives(func(path string) (store.Members, error) {
		progress := a.msg.Progress("unpacking")
		defer progress.Close()
		b, err := bundle.Open(path, bundle.Options{
			Max: a.global.unpackMax, Shared: a.shared, Tensors: tensorfile.Claimed, Context: ctx,
			Watch: func(done, total int64) { progress.Observe(0, 1, done, total) },
			Warn:  func(s lang.Sentence) { warn(a, []lang.Sentence{s}) },
		})
		packed := new(bundle.UnpackError)
		switch {
		case errors.As(err, &packed):
			return nil, configError(packed)
		case err != nil || b == nil:
			return nil, err
		}
		return b, nil
	})
}

// shareable refuses archives that each shard of a command would unpack. Those in object
// storage are known by their names: nothing is read of them before the shards run.
func (a *app) shareable(line *innerLine) error {
	a.shared = true
	paths := slices.Clone(line.args)
	for _, v := range line.values {
		if has(v.flag, place) || v.flag.Name == "dump-path" {
			paths = append(paths, convert.SplitPaths([]string{v.text})...)
		}
	}
	for _, path := range paths {
		if store.Remote(path) {
			if name := strings.ToLower(path); bundle.NamesCompressed(name) {
				return configError(bundle.Shared(path))
			}
			continue
		}
		if info, err := store.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if _, err := store.Mount(path); err != nil {
			return err
		}
	}
	return nil
}

// checkOut refuses a file where the output is a folder.
func checkOut(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("out")
	if f == nil || !f.Changed {
		return nil
	}
	if kind, _ := pflag.UnquoteUsage(f); kind != "DIR" {
		return nil
	}
	if to := cmd.Flags().Lookup("type"); to != nil && convert.Type(to.Value.String()).Extracts() {
		return nil
	}
	if err := safefile.CheckFolder(f.Value.String()); err != nil {
		return incompletef("%w", err)
	}
	return nil
}
