// Wheel packs the released binaries as Python wheels, so that pip puts dumptool into the bin folder of an
// environment. A wheel (PEP 427) is a zip file; tags of platforms follow PEP 600 and PEP 656.
//
//	go run ./wheel FOLDER
//
// FOLDER holds dumptool-OS-ARCH and NOTICE.txt, as "make dist" writes them. The same binaries give the same bytes.
package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dumptool"
)

// platforms are the tags of the binaries. Static binaries run with glibc and with musl.
var platforms = []struct{ file, tag string }{
	{"dumptool-linux-amd64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{"dumptool-linux-arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
	{"dumptool-darwin-arm64", "macosx_11_0_arm64"},
	{"dumptool-windows-amd64.exe", "win_amd64"},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: wheel FOLDER")
		os.Exit(2)
	}
	if err := pack(os.Args[1], dumptool.Release()); err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
}

// pack writes a wheel for each binary in a folder.
func pack(folder, release string) error {
	notice, err := os.ReadFile(filepath.Join(folder, "NOTICE.txt"))
	if err != nil {
		return err
	}
	packed := 0
	for _, p := range platforms {
		binary, err := os.ReadFile(filepath.Join(folder, p.file))
		if os.IsNotExist(err) { // DIST_TARGETS may leave out platforms
			continue
		} else if err != nil {
			return err
		}
		name := fmt.Sprintf("dumptool-%s-py3-none-%s.whl", release, p.tag)
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		w := &wheel{zip: zip.NewWriter(f), info: "dumptool-" + release + ".dist-info/"}
		w.add("dumptool-"+release+".data/scripts/dumptool"+filepath.Ext(p.file), binary, 0o755)
		w.add(w.info+"licenses/NOTICE.txt", notice, 0o644)
		w.add(w.info+"METADATA", fmt.Appendf(nil, metadata, release), 0o644)
		w.add(w.info+"WHEEL", fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: dumptool\nRoot-Is-Purelib: false\nTag: py3-none-%s\n", p.tag), 0o644)
		if err := w.finish(f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		packed++
	}
	if packed == 0 {
		return fmt.Errorf("%s has no binary of a release, such as %s", folder, platforms[0].file)
	}
	return nil
}

const metadata = `Metadata-Version: 2.1
Name: dumptool
Version: %s
Summary: Finds which operator of a network computed wrong on an Ascend NPU, from its dumps
Requires-Python: >=3
License-File: NOTICE.txt
Description-Content-Type: text/markdown

One static binary, the command ` + "`dumptool`" + `. It needs nothing of Python.
`

// wheel writes the files of a wheel. RECORD lists each with its SHA-256.
type wheel struct {
	zip    *zip.Writer
	info   string
	record []byte
	err    error
}

func (w *wheel) add(name string, content []byte, mode os.FileMode) {
	if w.err != nil {
		return
	}
	header := &zip.FileHeader{Name: name, Method: zip.Deflate} // no time: the same bytes each time
	header.SetMode(mode)
	var out io.Writer
	if out, w.err = w.zip.CreateHeader(header); w.err == nil {
		_, w.err = out.Write(content)
	}
	sum := sha256.Sum256(content)
	w.record = fmt.Appendf(w.record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
}

// finish writes RECORD, which has no sum of itself, and closes the file.
func (w *wheel) finish(f io.Closer) error {
	record := fmt.Appendf(w.record, "%sRECORD,,\n", w.info)
	w.add(w.info+"RECORD", record, 0o644)
	for _, closeIt := range []func() error{w.zip.Close, f.Close} {
		if err := closeIt(); w.err == nil {
			w.err = err
		}
	}
	return w.err
}
