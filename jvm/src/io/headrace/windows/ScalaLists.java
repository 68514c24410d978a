package io.headrace.windows;

import java.util.ArrayList;
import java.util.List;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Lists as Catalyst takes and gives them. */
final class ScalaLists {
    private ScalaLists() {}

    static <T> Seq<T> seq(List<? extends T> list) {
        return CollectionConverters.<T>asScala(new ArrayList<T>(list)).toSeq();
    }

    static <T> Seq<T> joined(List<? extends T> first, List<? extends T> second) {
        List<T> both = new ArrayList<>(first);
        both.addAll(second);
        return seq(both);
    }

    static <T> List<T> list(Seq<? extends T> seq) {
        return new ArrayList<>(CollectionConverters.asJava(seq));
    }
}
