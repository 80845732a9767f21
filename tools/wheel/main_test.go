package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// folderOf makes the folder of a release whose binaries are scripts that print a line.
func folderOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range platforms {
		if err := os.WriteFile(filepath.Join(dir, p.file), []byte("#!/bin/sh\necho ran $1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "NOTICE.txt"), []byte("licences\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wheels packs a folder and returns its wheels.
func wheels(t *testing.T, dir string) []string {
	t.Helper()
	if err := pack(dir, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(files) != len(platforms) {
		t.Fatalf("%d wheels, %v; want %d", len(files), err, len(platforms))
	}
	return files
}

// TestRecord: RECORD lists every file with its size and sum, the program is executable, and the same
// binaries give the same bytes.
func TestRecord(t *testing.T) {
	t.Parallel()
	first, second := wheels(t, folderOf(t)), wheels(t, folderOf(t))
	for i := range first {
		a, errA := os.ReadFile(first[i])
		b, errB := os.ReadFile(second[i])
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s: other bytes a second time, %v, %v", filepath.Base(first[i]), errA, errB)
		}
		checkRecord(t, first[i])
	}
}

func checkRecord(t *testing.T, file string) {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	contents := map[string][]byte{}
	programs := 0
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if contents[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.Name, ".data/scripts/dumptool") {
			programs++
			if f.Mode().Perm() != 0o755 {
				t.Errorf("%s: %s has the mode %v", file, f.Name, f.Mode())
			}
		}
	}
	const record = "dumptool-1.2.3.dist-info/RECORD"
	lines, err := csv.NewReader(strings.NewReader(string(contents[record]))).ReadAll()
	if err != nil || len(lines) != len(contents) || programs != 1 {
		t.Fatalf("%s: %d lines in RECORD, %d files, %d programs, %v", file, len(lines), len(contents), programs, err)
	}
	for _, line := range lines {
		content, ok := contents[line[0]]
		sum := sha256.Sum256(content)
		if want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]); !ok || line[0] != record && (line[1] != want || line[2] != strconv.Itoa(len(content))) {
			t.Errorf("%s: line %q of RECORD, in the archive %v, want %s, %d", file, line, ok, want, len(content))
		}
	}
}

// TestPip: pip installs the wheel of this machine, and the command runs. Machines without pip check the
// archive alone, above.
func TestPip(t *testing.T) {
	t.Parallel()
	if exec.Command("python3", "-m", "pip", "--version").Run() != nil {
		t.Log("python3 -m pip is not there")
		return
	}
	dir := folderOf(t)
	wheels(t, dir)
	env := t.TempDir()
	pip := exec.Command("python3", "-m", "pip", "install", "--no-index", "--find-links", dir, "--target", env, "dumptool")
	pip.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1")
	if out, err := pip.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(filepath.Join(env, "bin", "dumptool"), "well").CombinedOutput()
	if err != nil || string(out) != "ran well\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestNoBinaries: a folder without binaries is an error that names what is missing.
func TestNoBinaries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := pack(dir, "1.2.3"); err == nil || !strings.Contains(err.Error(), "NOTICE.txt") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "NOTICE.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := pack(dir, "1.2.3"); err == nil || !strings.Contains(err.Error(), "dumptool-linux-amd64") {
		t.Error(err)
	}
}
