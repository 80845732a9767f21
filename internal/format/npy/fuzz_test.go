package npy

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzOpen checks that no file makes Open panic or read outside the file, that
// every error is typed, that parsed headers survive being written and parsed
// again, and that small arrays are the ones the slow version reads.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.npy")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, tt := range readerErrors {
		f.Add([]byte(tt.file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := openBytes(t, data)
		var broken *FormatError
		var unsupported *UnsupportedError
		switch {
		case err != nil && file != nil:
			t.Fatalf("a file comes with the error %v", err)
		case errors.As(err, &broken) || errors.As(err, &unsupported):
			return
		case err != nil:
			t.Fatalf("error of neither type: %v", err)
		}
		again, err := AppendHeader(nil, file.Host, file.Shape)
		if err != nil {
			return // only for shapes that fill the longest header
		}
		stored := data[file.Offset:][:file.Size]
		rewritten, err := openBytes(t, append(again, stored...))
		if err != nil {
			t.Fatalf("own header %q: %v", again, err)
		}
		if rewritten.Host != file.Host || !rewritten.Shape.Equal(file.Shape) || rewritten.Size != file.Size {
			t.Fatalf("parsed again %+v, first %+v", rewritten, file)
		}
		if !bytes.Equal(readAll(t, file.Data()), slowCOrder(stored, file.Header)) {
			t.Fatalf("data of %+v differs", file.Header)
		}
	})
}
