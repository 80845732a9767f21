package main

import (
	"context"
	"errors"

	"dumptool/internal/bundle"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// unpackMaxFlag bounds what is unpacked of an archive.
func unpackMaxFlag(to *int64) cmdFlag {
	*to = 1 << 40
	return cmdFlag{"unpack-max", (*sizeFlag)(to), "unpack at most so many bytes of an archive to $TMPDIR", global, rare}
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
			return nil, configError(errors.New(a.inLang(lang.Error(packed))))
		case err != nil || b == nil:
			return nil, err
		}
		return b, nil
	})
}
