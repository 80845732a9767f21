package main

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"dumptool/internal/format/npy"
	"dumptool/internal/format/safetensors"
	"dumptool/internal/format/torch"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// arrays is the number of float32 arrays in the measured files.
const arrays = 8

// floats is an array of float32.
type floats struct {
	shape tensor.Shape
	block []byte // its elements repeat this block
	ctx   context.Context
}

func (a *floats) size() int64 { return 4 * a.shape.Elements() }

// write writes the elements.
func (a *floats) write(w io.Writer) error {
	_, err := io.CopyN(w, &repeat{ctx: a.ctx, block: a.block}, a.size())
	return err
}

// writeNPY writes the file of an array.
func (a *floats) writeNPY(w io.Writer) error {
	header, err := npy.AppendHeader(nil, tensor.HostFloat32, a.shape)
	if err == nil {
		_, err = w.Write(header)
	}
	if err != nil {
		return err
	}
	return a.write(w)
}

// containers are the kinds of files that name their tensors, with functions that write the arrays to a folder.
var containers = []struct {
	name  string
	write func(dir string, a *floats) error
}{
	{".npz", func(dir string, a *floats) error { return create(dir, "arrays.npz", a.writeNPZ) }},
	{".safetensors", func(dir string, a *floats) error { return create(dir, "arrays.safetensors", a.writeSafetensors) }},
	{".pt", func(dir string, a *floats) error { return a.each(dir, ".pt", a.writePT) }},
}

func (a *floats) writeNPZ(w io.Writer) error {
	archive := zip.NewWriter(w)
	for i := range arrays {
		to, err := archive.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("array%d.npy", i), Method: zip.Store})
		if err == nil {
			err = a.writeNPY(to)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

func (a *floats) writeSafetensors(w io.Writer) error {
	var entries []safetensors.Entry
	for i := range arrays {
		entries = append(entries, safetensors.Entry{Name: fmt.Sprint("array", i), DType: tensor.Float32, Shape: a.shape})
	}
	header, err := safetensors.AppendHeader(nil, entries)
	if err == nil {
		_, err = w.Write(header)
	}
	for range entries {
		if err == nil {
			err = a.write(w)
		}
	}
	return err
}

func (a *floats) writePT(w io.Writer) error {
	to, err := torch.NewWriter(w, tensor.HostFloat32, a.shape)
	if err == nil {
		err = a.write(to)
	}
	if err != nil {
		return err
	}
	return to.Close()
}

// each writes a file for every array.
func (a *floats) each(dir, extension string, write func(io.Writer) error) error {
	for i := range arrays {
		if err := create(dir, fmt.Sprint("array", i, extension), write); err != nil {
			return err
		}
	}
	return nil
}

// create creates a file, and its folder.
func create(dir, name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// containers compares reading arrays from files that name them with reading .npy files, alternating and with one
// worker: a file is a job.
func (b *bench) containers(ctx context.Context) error {
	a := &floats{shape: tensor.Shape{max(1, b.size/4/arrays/4096), 1024}, ctx: ctx}
	for _, v := range synth.Uniform[float32](rand.New(rand.NewPCG(1, 1)), 1<<18, 1) {
		a.block = binary.LittleEndian.AppendUint32(a.block, math.Float32bits(v))
	}
	folder := func(i int) string { return filepath.Join(b.scratch, fmt.Sprint("arrays", i)) }
	if err := a.each(folder(len(containers)), ".npy", a.writeNPY); err != nil {
		return err
	}
	for i, c := range containers {
		if err := c.write(folder(i), a); err != nil {
			return err
		}
	}
	if err := flush(ctx); err != nil {
		return err
	}
	samples := make([][]sample, len(containers)+1)
	for round := range b.runs + 1 { // the first round reads the files into memory
		for i := range samples {
			s, err := measure(ctx, b.binary, "inspect", "--stats", "-j", "1", folder(i))
			if err != nil {
				return err
			}
			if round > 0 {
				samples[i] = append(samples[i], s)
			}
		}
	}
	for i, c := range containers {
		job := "inspect --stats of " + c.name
		b.report(speedResult(job, samples[i], ".npy", samples[len(containers)], containerTarget), memoryResult(job, samples[i], memoryTarget))
	}
	return nil
}

// Sizes of an import: 1 GiB of text, in lines of 64 digits; less if the trees are smaller than usual.
const (
	pieceNodes  = 64
	pieceCount  = 4 // pieces per node
	pieceLines  = 64 << 10
	pieceDigits = 64
)

// pieces compares an import of hex text with reading the text.
func (b *bench) pieces(ctx context.Context) error {
	root := filepath.Join(b.scratch, "hpaa")
	dump := filepath.Join(root, "dump_data")
	nodes := b.scaled(pieceNodes, 1)
	if err := makePieces(ctx, dump, nodes); err != nil {
		return err
	}
	if err := flush(ctx); err != nil {
		return err
	}
	shape := fmt.Sprintf("%dx%d", pieceLines, pieceDigits/4)
	args := []string{b.binary, "hpaa", "import", root, "--piece-pattern", "{node}.{piece}.dat", "--encoding", "hex", "--dtype", "float16", "--shape", shape, "-q"}
	return b.besideCat(ctx, job{fmt.Sprintf("hpaa import of %d MiB of hex", nodes*pieceCount*pieceLines*pieceDigits>>20), importTarget, args}, dump)
}

// makePieces writes the pieces.
func makePieces(ctx context.Context, dir string, nodes int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	for k := range nodes * pieceCount {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := makePiece(filepath.Join(dir, fmt.Sprintf("node%d.%d.dat", k/pieceCount, k%pieceCount)), random); err != nil {
			return err
		}
	}
	return nil
}

func makePiece(path string, random *rand.Rand) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	data, line := make([]byte, pieceDigits/2), make([]byte, pieceDigits+1)
	line[pieceDigits] = '\n'
	for range pieceLines {
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		hex.Encode(line, data)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
