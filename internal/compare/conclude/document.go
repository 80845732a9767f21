package conclude

import (
	"io"

	"dumptool/internal/compare/record"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
)

// DocumentName is the document of a comparison.
const DocumentName = "compare.json"

// ReadReport reads the compare.json of a run, or that in a folder. Errors name it.
func ReadReport(path string) (rep *record.Report, err error) {
	err = readDocument(path, func(in io.Reader) error {
		rep, err = record.Read(in)
		return err
	})
	return rep, err
}

// documentAt is the compare.json at a path, or in the folder there.
func documentAt(path string) string { return safefile.InFolder(path, DocumentName) }

// readDocument reads the compare.json at a path, or in the folder there. Errors name it.
func readDocument(path string, read func(io.Reader) error) error {
	path = documentAt(path)
	f, err := shard.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return safefile.WithPath(path, err)
	}
	return nil
}
