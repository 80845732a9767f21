// Command protogen generates Go code from .proto files without protoc: it
// parses them itself and hands the result to protoc-gen-go over the plugin
// protocol.
//
//	go run ./protogen -I ROOT -out ROOT path/below/root.proto...
//
// It runs protoc-gen-go with "go tool", so the working folder must lie in the
// module that pins it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run generates the code of every file in args and writes it below -out.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("protogen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("I", ".", "`folder` that the .proto files and their imports are named from")
	out := flags.String("out", ".", "`folder` that the generated files are named from")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no .proto file given")
	}
	req, err := request(ctx, *root, flags.Args())
	if err != nil {
		return err
	}
	resp, err := plugin(ctx, req, stderr)
	if err != nil {
		return err
	}
	for _, f := range resp.File {
		if err := write(*out, f); err != nil {
			return err
		}
	}
	return nil
}

// request parses the files and describes them the way protoc does: every file
// after the files it imports.
func request(ctx context.Context, root string, files []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the generated code
	}
	parsed, err := compiler.Compile(ctx, files...)
	if err != nil {
		return nil, err
	}
	req := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: files,
		Parameter:      proto.String("paths=source_relative"),
	}
	seen := map[string]bool{}
	var add func(fd protoreflect.FileDescriptor) error
	add = func(fd protoreflect.FileDescriptor) error {
		if seen[fd.Path()] {
			return nil
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			if err := add(fd.Imports().Get(i).FileDescriptor); err != nil {
				return err
			}
		}
		desc, err := plain(protoutil.ProtoFromFileDescriptor(fd))
		if err != nil {
			return fmt.Errorf("%s: %w", fd.Path(), err)
		}
		req.ProtoFile = append(req.ProtoFile, desc)
		return nil
	}
	for _, fd := range parsed {
		if err := add(fd); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// plain returns desc as it looks after a trip over the wire, so that options
// which the parser kept in types of its own become ordinary ones.
func plain(desc *descriptorpb.FileDescriptorProto) (*descriptorpb.FileDescriptorProto, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(desc)
	if err != nil {
		return nil, err
	}
	copied := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(b, copied); err != nil {
		return nil, err
	}
	return copied, nil
}

// plugin runs protoc-gen-go on the request.
func plugin(ctx context.Context, req *pluginpb.CodeGeneratorRequest, stderr io.Writer) (*pluginpb.CodeGeneratorResponse, error) {
	in, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "protoc-gen-go")
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	resp := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(out, resp); err != nil {
		return nil, fmt.Errorf("protoc-gen-go: response: %w", err)
	}
	if resp.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %s", resp.GetError())
	}
	return resp, nil
}

// write stores one generated file below root. A file whose content is already
// right keeps its time stamp.
func write(root string, f *pluginpb.CodeGeneratorResponse_File) error {
	name, content := filepath.FromSlash(f.GetName()), []byte(f.GetContent())
	if !filepath.IsLocal(name) {
		return fmt.Errorf("generated file %q would leave the output folder", name)
	}
	name = filepath.Join(root, name)
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return os.WriteFile(name, content, 0o644)
}
