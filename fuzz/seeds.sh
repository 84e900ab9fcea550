#!/bin/sh
# Sound files for the fuzzer to start from. Run it in this folder.
set -eu
mkdir -p corpus/model_file corpus/csv corpus/libsvm corpus/arff corpus/npy corpus/idx
cp ../crates/hedgerow/tests/data/*.hedgerow corpus/model_file/
gzip -dc ../data/titanic.csv.gz | sed -n 1,12p > corpus/csv/titanic
gzip -dc ../data/ripley_train.csv.gz | sed -n 1,8p > corpus/csv/ripley
gzip -c corpus/csv/ripley > corpus/csv/ripley.gz
printf 'a,"b ""q""",y\n1,"x,\ny",0\n?,NA,1\n2,z,inf\n' > corpus/csv/quoted
printf '2 3 2 1\n0 1:1 3:2.5\n1 2:5 # note\n' > corpus/libsvm/saffari
printf '+1 1:0.5 4:-2e3\n-1 2:1 3:0\n' > corpus/libsvm/plain
cat > corpus/arff/mixed <<'END'
% a comment
@relation r
@attribute a real
@attribute 'b c' {x,'y z',"q"}
@attribute d string
@attribute class {p,q}
@data
1,x,'s t',p
{0 2, 3 q}
?,?,?,q
END
# NPY: magic, version 1.0, length of the header (118), header, values.
npy() {
    printf '\223NUMPY\001\000\166\000'
    printf '%-117s\n' "{'descr': '$1', 'fortran_order': $2, 'shape': $3, }"
    printf "$4"
}
npy '|u1' False '(4, 3)' '\001\002\003\004\005\006\007\010\011\012\013\014' > corpus/npy/bytes
npy '<f4' True '(2, 2)' '\000\000\200\077\000\000\000\100\000\000\000\000\000\000\200\077' > corpus/npy/floats
npy '>i2' False '(2, 2)' '\000\001\000\002\000\003\000\004' > corpus/npy/shorts
npy '<U1' False '(2, 2)' 'a\000\000\000b\000\000\000c\000\000\000d\000\000\000' > corpus/npy/text
# IDX: two zeros, type, number of dimensions, sizes, values.
printf '\000\000\010\003\000\000\000\002\000\000\000\002\000\000\000\001\001\002\003\004' > corpus/idx/images
printf '\000\000\015\002\000\000\000\001\000\000\000\002\077\200\000\000\100\000\000\000' > corpus/idx/floats
printf '\000\000\010\001\000\000\000\003\000\001\000' > corpus/idx/labels
