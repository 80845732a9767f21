package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// The pieces of an import: 1 GiB of text, as lines of 64 digits, less where the trees
// are smaller than usual.
const (
	pieceNodes  = 64
	pieceCount  = 4 // of a node
	pieceLines  = 64 << 10
	pieceDigits = 64
)

// pieces measures an import of hex text beside reading it.
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
